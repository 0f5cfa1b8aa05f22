"""The Compose files, read as Compose reads them: no engine is needed to see that they fit the program."""

from __future__ import annotations

import json
from typing import Any

import pytest

from app.core.settings import Settings, SettingsError
from tests.deploy.files import (
    COMPOSE_FILES,
    SETTINGS,
    compose,
    filled,
    image_environment,
    own_services,
    services,
    text,
    variables,
)  # fmt: skip

DEVELOPMENT, PRODUCTION = COMPOSE_FILES
STORE_PASSWORDS = {"MONGO_PASSWORD", "VALKEY_PASSWORD"}
"""Of the databases' own containers; the desk gets them inside its two addresses."""
SECRETS = {
    "APP_URL": "https://desk.example.com",
    "MONGO_PASSWORD": "a" * 48,
    "VALKEY_PASSWORD": "b" * 48,
    "JWT_SECRET": "c" * 64,
    "COOKIE_SECRET": "d" * 64,
    "AUDIT_KEY": "e" * 64,
}


def _settings(name: str, service: dict[str, Any], **given: str) -> Settings:
    """The settings of a service as the program reads them in its container."""
    environment = image_environment() | {
        key: filled(str(value), **given) for key, value in service["environment"].items()
    }
    values = {key.lower(): value for key, value in environment.items() if key in SETTINGS}
    return Settings(_env_file=None, **values)


@pytest.mark.parametrize("name", COMPOSE_FILES)
def test_every_variable_it_names_is_a_setting(name: str) -> None:
    """Issue 3.9."""
    for service in own_services(name).values():
        assert set(service["environment"]) <= SETTINGS
    assert set(variables(name)) <= SETTINGS | (STORE_PASSWORDS if name == PRODUCTION else set())


@pytest.mark.parametrize("name", COMPOSE_FILES)
def test_a_copied_env_file_cannot_move_the_program_out_of_reach(name: str) -> None:
    """Issue 3.9: what is set here comes before `.env`, which may hold the addresses of a desk without Docker."""
    image = image_environment()
    for service in own_services(name).values():
        assert service["env_file"] == [{"path": ".env", "required": False}]
        assert str(service["environment"]["HOST"]) == image["HOST"]
        assert str(service["environment"]["PORT"]) == image["PORT"]
        assert {"APP_ENV", "APP_URL", "MONGODB_URI", "REDIS_URL"} <= set(service["environment"])


@pytest.mark.parametrize("name", COMPOSE_FILES)
def test_web_and_worker_are_one_image_and_known_commands(name: str) -> None:
    """Issue 3.9: one image for web and worker."""
    from app.cli import desk

    own = own_services(name)
    assert {"web", "worker", "seed"} <= set(own)
    for key, service in own.items():
        command = desk.commands[service["command"][0]]
        command.make_context(key, list(service["command"][1:]))  # refuses options that are not there


@pytest.mark.parametrize("name", COMPOSE_FILES)
def test_what_depends_on_another_waits_for_something_that_is_checked(name: str) -> None:
    """Issue 3.9: health checks."""
    found = services(name)
    for key, service in found.items():
        for other, how in service.get("depends_on", {}).items():
            if how["condition"] == "service_healthy":
                checked = found[other].get("healthcheck", {}).get("test") or other == "web"  # the image's own check
                assert checked, f"{key} waits for {other}"
            if how["condition"] == "service_completed_successfully":
                assert found[other]["restart"] == "no"


@pytest.mark.parametrize("name", COMPOSE_FILES)
def test_the_databases_are_those_it_was_written_for(name: str) -> None:
    """Issue 3.9: MongoDB 8, Valkey 9, data in a volume, and none that Valkey would need."""
    found = services(name)
    assert found["mongo"]["image"] == "mongo:8"
    assert found["valkey"]["image"] == "valkey/valkey:9"
    assert all(found[store]["healthcheck"]["test"] for store in ("mongo", "valkey"))
    assert found["mongo"]["volumes"] == ["mongo:/data/db"]
    assert set(compose(name)["volumes"]) >= {"mongo"}


@pytest.mark.parametrize("name", COMPOSE_FILES)
def test_published_ports_are_loopback_ones_and_lead_to_the_program(name: str) -> None:
    """Issue 3.9: ports and health checks agree with the image."""
    for key, service in services(name).items():
        for port in service.get("ports", []):
            address, _, inside = port.split(":")
            assert address == "127.0.0.1", f"{key}: {port}"
            if service["image"] == "work-order-desk":
                assert inside == image_environment()["PORT"]


def test_for_development_it_is_a_working_desk_with_the_demo_model() -> None:
    """Issue 3.9, D-19: the model is on the loopback that web and worker share."""
    own = own_services(DEVELOPMENT)
    settings = _settings(DEVELOPMENT, own["web"])
    assert settings.ai_enabled
    assert settings.local_provider_allowed
    port = own["demo-model"]["command"][own["demo-model"]["command"].index("--port") + 1]
    assert settings.ai_base_url == f"http://127.0.0.1:{port}/v1"
    assert f":{port}/health" in json.dumps(own["demo-model"]["healthcheck"])
    assert own["demo-model"]["network_mode"] == own["worker"]["network_mode"] == "service:web"
    assert own["web"]["environment"] == own["worker"]["environment"] == own["seed"]["environment"]
    assert f"{settings.desk_dir}" in own["web"]["volumes"][0]


def test_for_development_a_real_provider_or_none_is_a_matter_of_the_environment() -> None:
    """D-22."""
    web = own_services(DEVELOPMENT)["web"]
    assert not _settings(DEVELOPMENT, web, AI_ENABLED="false").ai_enabled
    real = {"AI_BASE_URL": "https://models.example/v1", "AI_API_KEY": "k", "AI_MODEL": "m"}
    assert _settings(DEVELOPMENT, web, **real).ai_base_url == real["AI_BASE_URL"]


def test_in_production_the_program_accepts_what_it_is_given() -> None:
    """Contract, "Environment": APP_ENV=production boots with the secrets, and behind one proxy."""
    for service in own_services(PRODUCTION).values():
        settings = _settings(PRODUCTION, service, **SECRETS)
        assert settings.is_production
        assert settings.trust_proxy_hops == 1
        assert not settings.ai_enabled
        assert SECRETS["MONGO_PASSWORD"] in settings.mongodb_uri
        assert SECRETS["VALKEY_PASSWORD"] in settings.redis_url


@pytest.mark.parametrize("missing", [key for key in SECRETS if key not in STORE_PASSWORDS])
def test_in_production_a_missing_secret_is_refused_by_compose_and_by_the_program(missing: str) -> None:
    """Contract, "Environment"."""
    assert variables(PRODUCTION)[missing][0] == ":?"
    given = {key: value for key, value in SECRETS.items() if key != missing}
    with pytest.raises(SettingsError, match=missing):
        _settings(PRODUCTION, own_services(PRODUCTION)["web"], **given)


def test_in_production_no_secret_stands_in_the_file() -> None:
    """SEC-1."""
    for key in STORE_PASSWORDS | {"JWT_SECRET", "COOKIE_SECRET", "AUDIT_KEY"}:
        assert variables(PRODUCTION)[key][0] == ":?"
    assert "AI_ALLOW_LOCAL_PROVIDER" not in text(PRODUCTION)


def test_in_production_the_databases_are_published_to_nobody() -> None:
    """Issue 3.9."""
    found = services(PRODUCTION)
    for store in ("mongo", "valkey"):
        assert "ports" not in found[store]
        assert found[store]["networks"] == ["stores"]
    assert compose(PRODUCTION)["networks"]["stores"]["internal"] is True


def test_in_production_what_should_run_is_started_again() -> None:
    """Issue 3.9: restart policies, and nobody gains privileges."""
    for key, service in services(PRODUCTION).items():
        assert service["restart"] == ("no" if key == "seed" else "unless-stopped")
    for service in own_services(PRODUCTION).values():
        assert service["cap_drop"] == ["ALL"]
        assert service["read_only"] is True
