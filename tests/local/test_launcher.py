"""What `desk up` chooses and says."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.core.settings import Settings, load_settings
from app.local.errors import LocalServiceError
from app.local.launcher import Copilot, choose_copilot, greeting, until_healthy, up
from app.local.ports import free_port


@pytest.fixture(autouse=True)
def _bare_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No `.env` and no setting of the machine's own."""
    monkeypatch.chdir(tmp_path)
    for name in Settings.model_fields:
        monkeypatch.delenv(name.upper(), raising=False)


def test_without_any_ai_setting_the_demo_model_is_used() -> None:
    """Issue 2.4: the demo model unless a real provider is configured."""
    copilot = choose_copilot(load_settings())
    assert copilot.environment == {
        "AI_ENABLED": "true",
        "AI_ALLOW_LOCAL_PROVIDER": "true",
        "AI_BASE_URL": f"http://127.0.0.1:{copilot.demo_port}/v1",
        "AI_MODEL": "demo",
    }


@pytest.mark.parametrize("where", ["environment", "file"])
def test_an_explicit_no_stays_a_no(where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """003 §11: AI_ENABLED=false is the hard kill."""
    if where == "file":
        (tmp_path / ".env").write_text("AI_ENABLED=false\n")
    else:
        monkeypatch.setenv("AI_ENABLED", "false")
    copilot = choose_copilot(load_settings())
    assert copilot.environment == {}
    assert "off" in copilot.note


def test_an_empty_value_counts_as_none(tmp_path: Path) -> None:
    """003 §11: `KEY=` in an env file means the default."""
    (tmp_path / ".env").write_text("AI_ENABLED=\n")
    assert choose_copilot(load_settings()).demo_port is not None


def test_a_configured_provider_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Issue 2.4: a real provider needs no demo model."""
    monkeypatch.setenv("AI_ENABLED", "true")
    monkeypatch.setenv("AI_BASE_URL", "https://models.example/v1")
    monkeypatch.setenv("AI_API_KEY", "sk-not-to-be-shown")
    copilot = choose_copilot(load_settings())
    assert copilot.environment == {}
    assert "https://models.example/v1" in copilot.note
    assert "sk-not-to-be-shown" not in copilot.note


def test_a_provider_that_was_not_switched_on_is_said_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """003 §2: opt-in; a demo does not take the place of a provider half configured."""
    monkeypatch.setenv("AI_BASE_URL", "https://models.example/v1")
    copilot = choose_copilot(load_settings())
    assert copilot.environment == {}
    assert "Set AI_ENABLED=true" in copilot.note


def test_the_greeting_names_the_address_and_the_three_sign_ins() -> None:
    """Issue 2.1: prints the address and the three sign-ins."""
    text = "\n".join(greeting(load_settings(), Copilot("A note.")))
    assert "http://127.0.0.1:8000" in text
    for email, password in (
        ("admin@example.com", "Admin1234"),
        ("user@example.com", "User1234"),
        ("viewer@example.com", "Viewer1234"),
    ):
        assert email in text
        assert password in text


def test_a_password_of_ones_own_is_not_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Contract, "Environment": never the value of a secret."""
    monkeypatch.setenv("SEED_ADMIN_PASSWORD", "Private9876")
    text = "\n".join(greeting(load_settings(), Copilot("A note.")))
    assert "Private9876" not in text
    assert "(your SEED_ADMIN_PASSWORD)" in text


async def test_waiting_for_health_has_an_end() -> None:
    """Issue 2.4: every wait has a time-out."""
    url = f"http://127.0.0.1:{free_port()}"
    with pytest.raises(LocalServiceError, match="did not answer"):
        await until_healthy(url, timeout_s=0.05)


def test_up_is_refused_in_production(monkeypatch: pytest.MonkeyPatch) -> None:
    """D-19 and the settings: the demo model and the embedded services are for development."""
    for name, value in {
        "APP_ENV": "production",
        "MONGODB_URI": "mongodb://db.internal",
        "REDIS_URL": "redis://cache.internal",
        "APP_URL": "https://desk.internal",
        "JWT_SECRET": "j" * 40,
        "COOKIE_SECRET": "c" * 40,
        "AUDIT_KEY": "a" * 40,
    }.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(LocalServiceError, match="for development"):
        up(load_settings(), lambda _line: None)
