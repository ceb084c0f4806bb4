"""ApiVersions v5: the client sends the cluster id and node id that it expects (KIP-1242).

The response is that of v4.
"""

from dataclasses import dataclass, field
from typing import ClassVar

from kio.schema.api_versions import v4
from kio.schema.request_header.v2.header import RequestHeader
from kio.static.constants import EntityType
from kio.static.primitive import i16, i32


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiVersionsRequest:
    __type__: ClassVar = EntityType.request
    __version__: ClassVar[i16] = i16(5)
    __flexible__: ClassVar[bool] = True
    __api_key__: ClassVar[i16] = i16(18)
    __header_schema__: ClassVar[type[RequestHeader]] = RequestHeader
    client_software_name: str = field(metadata={"kafka_type": "string"})
    client_software_version: str = field(metadata={"kafka_type": "string"})
    cluster_id: str | None = field(metadata={"kafka_type": "string"}, default=None)
    node_id: i32 = field(metadata={"kafka_type": "int32"}, default=i32(-1))


class ApiVersionsResponse(v4.ApiVersionsResponse):
    __slots__ = ()
    __version__: ClassVar[i16] = i16(5)
