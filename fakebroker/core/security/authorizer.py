"""The authorizer that the settings of the brokers ask for.

Source   metadata/.../metadata/authorizer/StandardAuthorizer.java configure @ 4.4
Differs  Kafka loads any class. Here StandardAuthorizer is the only one; its setting refuses others.
"""

from __future__ import annotations

from fakebroker.core.security.standard_authorizer import StandardAuthorizer


def authorizer_of(class_name: str, super_users: str, allow_everyone_if_no_acl_found: bool) -> StandardAuthorizer | None:
    """Return the authorizer of a new cluster, without ACLs; None if none is set. The arguments are the settings with
    these names."""
    if not class_name:
        return None
    users = {user.strip() for user in super_users.split(";")} - {""}
    return StandardAuthorizer(frozenset(users), allow_everyone_if_no_acl_found)
