"""Names of settings of one listener: `listener.name.NAME.SETTING`, or `listener.name.NAME.MECHANISM.SETTING`.

Source   clients/.../common/network/ListenerName.java configPrefix, saslMechanismConfigPrefix;
         clients/.../common/config/AbstractConfig.java valuesWithPrefixOverride @ 4.4.
"""

from __future__ import annotations

from typing import Final, NamedTuple

_PREFIX: Final = "listener.name."


class ListenerSetting(NamedTuple):
    """The name of a setting of one listener. `settings` are the names that it may hide: what is behind the listener's
    name, and what is behind the next dot."""

    listener: str
    settings: tuple[str, str]


def of_listener(name: str) -> ListenerSetting | None:
    """Return the parts of a name; None if it is that of a setting of the broker."""
    if not name.startswith(_PREFIX):
        return None
    listener, _, rest = name.removeprefix(_PREFIX).partition(".")
    return ListenerSetting(listener, (rest, rest.partition(".")[2]))


def prefixes_of(listener: str, mechanism: str = "") -> list[str]:
    """Return the prefixes of the settings of a listener, those of a mechanism of SASL last. Both names are lower case
    there."""
    own = f"{_PREFIX}{listener.lower()}."
    return [own, f"{own}{mechanism.lower()}."] if mechanism else [own]
