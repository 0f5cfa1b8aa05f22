"""What `desk seed` does: three people and their sample orders, once (D-27). It needs MongoDB alone."""

from __future__ import annotations

from dataclasses import dataclass

from bson import ObjectId
from pydantic import SecretStr

from app.accounts.actors import Role
from app.accounts.assembly import open_accounts
from app.accounts.models import Lock, RefreshSession, User
from app.accounts.service import AccountsService
from app.core.clock import Clock, SystemClock
from app.core.cursors import Cursors
from app.core.events import Announcements
from app.core.mongo import bind_documents, open_mongo
from app.core.settings import Settings, SettingsError
from app.mail.log import LogMailer
from app.outbox.models import OutboxEvent
from app.outbox.repository import OutboxRepository
from app.outbox.service import OutboxService
from app.work_orders.assembly import open_work_orders
from app.work_orders.models import WorkOrder
from app.work_orders.seed_data import sample_orders
from app.work_orders.service import WorkOrderService

DOCUMENTS = [User, RefreshSession, Lock, WorkOrder, OutboxEvent]


@dataclass(frozen=True, slots=True)
class SeedPerson:
    """One sign-in of the seed."""

    key: str
    name: str
    role: Role
    email: str
    password: SecretStr


@dataclass(frozen=True, slots=True)
class SeedSummary:
    """Who can sign in, and how many orders were added."""

    people: list[SeedPerson]
    orders_added: int

    def lines(self) -> list[str]:
        """For the terminal of the person who seeded; never for a log."""
        added = (
            f"{self.orders_added} sample work orders added." if self.orders_added else "The sample orders are there."
        )
        return [
            added,
            *(f"{_WORDS[one.role]:<11} {one.email}  {one.password.get_secret_value()}" for one in self.people),
        ]


_WORDS: dict[Role, str] = {"admin": "Dispatcher", "user": "Technician", "viewer": "Viewer"}


async def run(settings: Settings) -> SeedSummary:
    """Seeds the database that `settings` name. Running it again adds nothing and changes nobody's password.

    Raises `SettingsError` in production while a seed password is the published one.
    """
    people = seed_people(settings)
    clock, announcements = SystemClock(), Announcements()
    async with open_mongo(settings.mongodb_uri, settings.mongodb_db) as database:
        await bind_documents(database, DOCUMENTS)
        accounts = open_accounts(settings, clock, announcements, LogMailer(show_links=False)).accounts
        orders = open_work_orders(
            database,
            outbox=OutboxService(OutboxRepository(database), clock, max_attempts=settings.agent_max_attempts),
            accounts=accounts,
            announcements=announcements,
            cursors=Cursors(settings.cookie_secret.get_secret_value()),
            clock=clock,
        )
        return await seed(accounts, orders, clock, people)


async def seed(
    accounts: AccountsService, orders: WorkOrderService, clock: Clock, people: list[SeedPerson]
) -> SeedSummary:
    """Makes who and what is missing."""
    ids: dict[Role, ObjectId] = {}
    for one in people:
        password = one.password.get_secret_value()
        ids[one.role] = await accounts.ensure_user(one.email, password, one.name, one.role)
    samples = sample_orders(clock.now(), technician=ids["user"], dispatcher=ids["admin"])
    return SeedSummary(people, await orders.import_past(samples))


def seed_people(settings: Settings) -> list[SeedPerson]:
    """The three people that `settings` name. Raises `SettingsError`, see `run`."""
    people = [
        SeedPerson("admin", "Dana Holt", "admin", settings.seed_admin_email, settings.seed_admin_password),
        SeedPerson("user", "Rosa Lind", "user", settings.seed_user_email, settings.seed_user_password),
        SeedPerson("viewer", "Vera Kay", "viewer", settings.seed_viewer_email, settings.seed_viewer_password),
    ]
    published = {one.key for one in people if one.password == Settings.model_fields[f"seed_{one.key}_password"].default}
    if settings.is_production and published:
        raise SettingsError(
            [f"SEED_{key.upper()}_PASSWORD: must be set to one of your own in production" for key in sorted(published)]
        )
    return people
