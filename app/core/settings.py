"""Every setting of the desk, read once from the environment and `.env` (contract, "Environment"; 003 §11).

A bad value raises `SettingsError`, whose lines name the key and what is allowed, never the value of a secret.
In development and test the secrets are made once and kept in a private file under `.desk/`; in production a
missing secret or address refuses to boot.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, SecretStr, ValidationError, field_validator, model_validator
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from app.core.kept_secrets import kept_secrets
from app.core.weekly_hours import parse_hours

MIN_SECRET = 32
_MIN_TOKEN = 16
_PLACEHOLDERS = ("change", "secret-here", "placeholder", "your-", "example")
_GENERATED_SECRETS = ("jwt_secret", "cookie_secret", "audit_key")

Milliseconds = Annotated[int, Field(ge=1, le=7 * 24 * 3600 * 1000)]
Usd = Annotated[float, Field(ge=0, le=1_000_000, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=1, le=1_000_000)]


class SettingsError(Exception):
    """One or more bad settings. `lines` holds one plain line per fault."""

    def __init__(self, lines: list[str]) -> None:
        self.lines = lines
        super().__init__("\n".join(lines))


class Settings(BaseSettings):
    """The settings, by section. Units are in the names (`_ms`, `_usd`); times are milliseconds."""

    model_config = SettingsConfigDict(
        env_file=".env", env_file_encoding="utf-8", extra="ignore", frozen=True, hide_input_in_errors=True
    )

    # The program
    app_env: Literal["development", "test", "production"] = "development"
    host: str = "127.0.0.1"
    port: int = Field(8000, ge=1, le=65535)
    app_url: str = ""
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    debug_errors: bool = False
    trust_proxy_hops: int = Field(0, ge=0, le=10)
    desk_dir: Path = Path(".desk")

    # Stores
    mongodb_uri: str = ""
    mongodb_db: str = Field("workorders", pattern=r"^[A-Za-z0-9_-]{1,38}$")
    redis_url: str = ""

    # Secrets
    jwt_secret: SecretStr = SecretStr("")
    cookie_secret: SecretStr = SecretStr("")
    audit_key: SecretStr = SecretStr("")
    smtp_url: SecretStr = SecretStr("")
    metrics_token: SecretStr = SecretStr("")

    # Limits
    rate_limit_max: Count = 300
    rate_limit_window_ms: Milliseconds = 60_000
    rate_limit_login_max: Count = 10
    rate_limit_forgot_max: Count = 3

    # Seed
    seed_admin_email: str = "admin@example.com"
    seed_admin_password: SecretStr = SecretStr("Admin1234")
    seed_user_email: str = "user@example.com"
    seed_user_password: SecretStr = SecretStr("User1234")
    seed_viewer_email: str = "viewer@example.com"
    seed_viewer_password: SecretStr = SecretStr("Viewer1234")

    # The copilot (003 §11)
    ai_enabled: bool = False
    ai_base_url: str = ""
    ai_api_key: SecretStr = SecretStr("")
    ai_model: str = Field("gpt-4o-mini", min_length=1, max_length=200)
    ai_allow_local_provider: bool = False
    ai_structured_output: Literal["auto", "json_schema", "json_object", "off"] = "auto"
    ai_max_steps_per_run: int = Field(8, ge=1, le=100)
    ai_max_output_tokens: int = Field(2048, ge=1, le=100_000)
    ai_max_context_tokens: int = Field(16_384, ge=1_000, le=2_000_000)
    ai_price_per_1m_input: Usd = 0.15
    ai_price_per_1m_output: Usd = 0.60
    ai_daily_spend_usd: Usd = 1.00
    agent_daily_spend_usd: Usd = 1.00
    ai_global_daily_spend_usd: Usd = 5.00
    ai_approval_ttl_ms: Milliseconds = 600_000
    ai_sse_keepalive_ms: Milliseconds = 15_000
    ai_rate_limit_max: Count = 20
    ai_disconnect_grace_ms: int = Field(120_000, ge=0, le=24 * 3600 * 1000)

    # What the copilot may reach (contract, section 6)
    connections_dir: Path = Path("connections")
    custom_tools_dir: Path = Path("custom_tools")
    tool_hook: str = Field("", pattern=r"^(?:[A-Za-z_][A-Za-z0-9_.]*:[A-Za-z_][A-Za-z0-9_]*)?$", max_length=200)

    # The triage agent (003 §11)
    agent_poll_interval_ms: Milliseconds = 5_000
    agent_lease_ms: Milliseconds = 15_000
    agent_sweep_interval_ms: Milliseconds = 30_000
    agent_max_attempts: int = Field(3, ge=1, le=100)
    agent_reconcile_after_ms: Milliseconds = 60_000
    agent_triage_mode: Literal["suggest", "auto-apply"] = "suggest"
    agent_working_hours: str = Field("*", min_length=1, max_length=200)
    agent_concurrency: int = Field(2, ge=1, le=64)

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],  # noqa: ARG003 - pydantic-settings gives all five
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003 - no secrets directory
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return init_settings, env_settings, dotenv_settings

    @field_validator("*", mode="before")
    @classmethod
    def _empty_means_unset(cls, value: Any, info: Any) -> Any:
        """`KEY=` in an env file means the default, as with no line at all."""
        if value == "" and info.field_name is not None:
            return cls.model_fields[info.field_name].default
        return value

    @field_validator("log_level", "app_env", mode="before")
    @classmethod
    def _lower(cls, value: Any) -> Any:
        return value.lower() if isinstance(value, str) else value

    @field_validator(*_GENERATED_SECRETS)
    @classmethod
    def _strong(cls, value: SecretStr) -> SecretStr:
        text = value.get_secret_value()
        if text and (len(text) < MIN_SECRET or any(word in text.lower() for word in _PLACEHOLDERS)):
            raise ValueError(f"must be at least {MIN_SECRET} characters and no placeholder")
        return value

    @field_validator("metrics_token")
    @classmethod
    def _printable(cls, value: SecretStr) -> SecretStr:
        text = value.get_secret_value()
        if text and (len(text) < _MIN_TOKEN or not text.isascii() or not text.isprintable() or " " in text):
            raise ValueError(f"must be at least {_MIN_TOKEN} printable ASCII characters without a space")
        return value

    @field_validator("agent_working_hours")
    @classmethod
    def _readable_hours(cls, value: str) -> str:
        parse_hours(value)
        return value

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        faults = [*self._store_faults(), *self._production_faults(), *self._provider_faults()]
        if faults:
            raise SettingsError(faults)
        return self

    def _store_faults(self) -> list[str]:
        faults = []
        if self.mongodb_uri and not self.mongodb_uri.startswith(("mongodb://", "mongodb+srv://")):
            faults.append("MONGODB_URI: must start with mongodb:// or mongodb+srv://")
        if self.redis_url and not self.redis_url.startswith(("redis://", "rediss://", "unix://")):
            faults.append("REDIS_URL: must start with redis://, rediss:// or unix://")
        if self.app_url and not self.app_url.startswith(("http://", "https://")):
            faults.append("APP_URL: must start with http:// or https://")
        return faults

    def _production_faults(self) -> list[str]:
        if self.app_env != "production":
            return []
        required = ("mongodb_uri", "redis_url", "app_url", *_GENERATED_SECRETS)
        faults = [f"{key.upper()}: is required when APP_ENV=production" for key in required if not _filled(self, key)]
        if self.ai_allow_local_provider:
            faults.append("AI_ALLOW_LOCAL_PROVIDER: is not allowed when APP_ENV=production")
        return faults

    def _provider_faults(self) -> list[str]:
        if not self.ai_enabled:
            return []
        faults = []
        if not self.ai_base_url:
            faults.append("AI_BASE_URL: is required when AI_ENABLED=true (or set AI_ENABLED=false)")
        elif not self.ai_base_url.startswith("https://") and not self._local_provider_allowed():
            faults.append(
                "AI_BASE_URL: must start with https:// (AI_ALLOW_LOCAL_PROVIDER=true admits http to this machine,"
                " in development and test only)"
            )
        if not self.ai_api_key.get_secret_value() and not self._local_provider_allowed():
            faults.append("AI_API_KEY: is required when AI_ENABLED=true")
        return faults

    def _local_provider_allowed(self) -> bool:
        return self.ai_allow_local_provider and self.app_env != "production"

    @property
    def is_production(self) -> bool:
        return self.app_env == "production"

    @property
    def local_provider_allowed(self) -> bool:
        """Whether http and loopback addresses may be used for the provider (D-19)."""
        return self._local_provider_allowed()

    @property
    def public_url(self) -> str:
        """The address people use, without a trailing slash."""
        return (self.app_url or f"http://{self.host}:{self.port}").rstrip("/")


def load_settings(**overrides: Any) -> Settings:
    """The settings of this process. Raises `SettingsError` with one line per fault."""
    try:
        settings = Settings(**overrides)
    except ValidationError as error:
        raise SettingsError([_line(fault) for fault in error.errors()]) from None
    if settings.is_production:
        return settings
    missing = {
        key: value
        for key, value in kept_secrets(settings.desk_dir, _GENERATED_SECRETS).items()
        if not _filled(settings, key)
    }
    return settings.model_copy(update={key: SecretStr(value) for key, value in missing.items()})


def _filled(settings: Settings, key: str) -> bool:
    value = getattr(settings, key)
    return bool(value.get_secret_value() if isinstance(value, SecretStr) else value)


def _line(fault: Any) -> str:
    key = ".".join(str(part) for part in fault["loc"]).upper() or "SETTINGS"
    message = fault["msg"].removeprefix("Value error, ").removeprefix("Input ")
    return f"{key}: {message}"
