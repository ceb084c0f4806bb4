"""ACLs, users of SASL, and their sessions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel
from starlette.responses import Response

from fakebroker.control.bodies import AclOf, NewAcl, NewUser, SessionsOf, UserOf
from fakebroker.control.errors import given, not_found
from fakebroker.control.here import Here, Route
from fakebroker.control.hosted import HostedCluster
from fakebroker.core.security.acl_binding import AclBinding
from fakebroker.protocol.slices import Slices
from fakebroker.server.security.acls_in_hand import acl_to_json, filter_of, read_acls
from fakebroker.server.security.users_in_hand import learn_in_slices

_LISTED = 32  # in a slice
router = APIRouter(tags=["security"], route_class=Route)


class AclList(BaseModel):
    acls: list[NewAcl]


class UserNow(BaseModel):
    """A user and the mechanisms by which it can log in."""

    name: str
    mechanisms: list[str]


class UserList(BaseModel):
    users: list[UserNow]


class Expired(BaseModel):
    """`expired` sessions have ended."""

    expired: int


@router.get("/acls", response_model=AclList)
async def get_acls(here: Here, query: Annotated[AclOf, Query()]) -> Response:
    """The ACLs that match, the oldest first. Without a query that is all of them."""
    with given():
        wanted = filter_of(**query.model_dump())
    acls = await here.work.do(here.core.admin.acls_in_slices(wanted))
    return await _acls(here, acls)


@router.post("/acls", status_code=201)
async def add_acl(here: Here, acl: NewAcl) -> NewAcl:
    """Allow or deny an operation from the next request on. It takes an authorizer (docs/security.md)."""
    with given():
        [binding] = read_acls([acl.model_dump()])
        here.core.admin.create_acl(binding)
    return NewAcl(**acl_to_json(binding))


@router.delete("/acls", response_model=AclList)
async def remove_acls(here: Here, body: AclOf) -> Response:
    """Remove the ACLs that match, and return them. An empty body matches all."""
    with given():
        wanted = filter_of(**body.model_dump())
    return await _acls(here, await here.work.do(here.core.admin.delete_acls_in_slices(wanted)))


@router.get("/users", response_model=UserList)
async def get_users(here: Here) -> Response:
    """The users of SASL. Those of login modules are not among them."""
    return await _users(here)


@router.put("/users", response_model=UserList)
async def put_user(here: Here, body: NewUser) -> Response:
    """Add a user, or change its password, for the next login."""
    with given():
        await here.work.do(learn_in_slices(body.name, body.password, body.mechanisms))
        here.cluster.users.add(body.name, body.password, mechanisms=body.mechanisms)
    return await _users(here)


@router.delete("/users", response_model=UserList)
async def remove_user(here: Here, body: UserOf) -> Response:
    """Remove a user, or some of its mechanisms. Its sessions go on."""
    with given():
        if not here.cluster.users.remove(body.name, mechanisms=body.mechanisms):
            raise not_found(f"there is no user {body.name!a} with such a mechanism")
    return await _users(here)


@router.post("/sessions/expire")
async def expire_sessions(here: Here, body: SessionsOf) -> Expired:
    """End the sessions of SASL of a user, or of all, now: the next request closes the connection, unless the client
    authenticates again."""
    return Expired(expired=here.cluster.expire_sessions(body.user))


async def _acls(here: HostedCluster, bindings: Sequence[AclBinding]) -> Response:
    return Response(await here.work.do(_list_acls(bindings)), media_type="application/json")


def _list_acls(bindings: Sequence[AclBinding]) -> Slices[str]:
    """Return an AclList."""
    lines: list[str] = []
    for binding in bindings:
        lines.append(NewAcl(**acl_to_json(binding)).model_dump_json())
        if len(lines) % _LISTED == 0:
            yield
    return f'{{"acls":[{",".join(lines)}]}}'


async def _users(here: HostedCluster) -> Response:
    return Response(await here.work.do(_list_users(here)), media_type="application/json")


def _list_users(here: HostedCluster) -> Slices[str]:
    """Return a UserList."""
    users = yield from here.core.sasl.users_in_slices()
    lines: list[str] = []
    for name, mechanisms in users.items():
        lines.append(UserNow(name=name, mechanisms=list(mechanisms)).model_dump_json())
        if len(lines) % _LISTED == 0:
            yield
    return f'{{"users":[{",".join(lines)}]}}'
