"""The authorizer that the settings of the brokers ask for.

Source   metadata/.../metadata/authorizer/StandardAuthorizer.java configure @ 4.4
Differs  Kafka loads any class; here there is StandardAuthorizer, and the broker does not start with another one.
"""

from __future__ import annotations

from typing import Final

from fakebroker.core.errors import ConfigError
from fakebroker.core.security.standard_authorizer import StandardAuthorizer

STANDARD_AUTHORIZER: Final = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"


def authorizer_of(class_name: str, super_users: str, allow_everyone_if_no_acl_found: bool) -> StandardAuthorizer | None:
    """Return the authorizer of a new cluster, without ACLs; None if none is set. The arguments are the settings with
    these names. Raise ConfigError for another class, and for a super user without a type."""
    name = class_name.strip()
    if not name:
        return None
    if name != STANDARD_AUTHORIZER:
        raise ConfigError(
            f"Invalid value {name} for configuration authorizer.class.name: the only one here is {STANDARD_AUTHORIZER}"
        )
    users = {each.strip() for each in super_users.split(";")} - {""}
    for user in users:
        if ":" not in user:
            raise ConfigError(
                f"Invalid value {user} for configuration super.users: expected a string in format "
                f"principalType:principalName but got {user}"
            )
    return StandardAuthorizer(frozenset(users), allow_everyone_if_no_acl_found)
