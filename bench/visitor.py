"""A signed-in person of the measured desk: tokens without the cost of signing in, and plain requests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import httpx
from bson import ObjectId
from pymongo import MongoClient

from app.accounts.tokens import AccessTokens
from app.core.clock import SystemClock
from bench.stage import BenchError, Stage

_SID = "bench"


@dataclass(frozen=True, slots=True)
class Visitor:
    """Someone by address in a database; their token is made with the desk's own key, as signing in would."""

    at: Stage
    database: str
    email: str

    def user_id(self) -> ObjectId:
        with MongoClient[dict[str, Any]](self.at.mongodb_uri) as client:
            found = client[self.database]["users"].find_one({"email": self.email}, {"role": 1})
        if found is None:
            raise BenchError(f"{self.email} is not in {self.database}.")
        return ObjectId(found["_id"])

    def cookies(self) -> dict[str, str]:
        """The `Cookie` header of the desk, good for 15 minutes."""
        key = self.at.settings(self.database).jwt_secret.get_secret_value()
        return {"Cookie": f"access_token={AccessTokens(key, SystemClock()).issue(self.user_id(), 'user', _SID)}"}

    def bare_cookies(self) -> dict[str, str]:
        """The `Cookie` header of the bare app."""
        return {"Cookie": f"user={self.user_id()}"}


def create_orders(url: str, headers: dict[str, str], count: int, title: str = "Pump leaks") -> list[str]:
    """New orders through `POST`, `{}` in the title their number; their ids."""
    made = []
    with httpx.Client(headers=headers, trust_env=False, timeout=10) as client:
        for number in range(count):
            answer = client.post(url, json={"title": title.format(number)})
            if answer.status_code != 201:
                raise BenchError(f"An order could not be created: {answer.status_code} {answer.text[:200]}")
            made.append(str(answer.json()["data"]["id"]))
    return made
