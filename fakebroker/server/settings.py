"""Settings from Python programs, converted to the texts that Kafka reads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from fakebroker.core.arguments import MAPPING_OR_NONE, SETTING, STRING, require
from fakebroker.core.config.topic_config import TopicConfig
from fakebroker.core.errors import ConfigError, KafkaError
from fakebroker.spelling import near_to_it


def texts(settings: Mapping[str, str | int | bool | None] | None) -> dict[str, str | None]:
    """Return the settings as texts. None stays: it resets a setting, or Kafka rejects it with an error."""
    require(MAPPING_OR_NONE, settings=settings)
    texts: dict[str, str | None] = {}
    for name, value in (settings or {}).items():
        require(STRING, **{"the name of a setting": name})
        require(SETTING, **{f"the setting {name}": value})
        if "_" in name and not name.startswith("listener.name."):
            raise ConfigError(
                f"Unknown configuration {name!r}: Kafka's names have dots, as in {name.replace('_', '.')!r}."
            )
        texts[name] = _text(value)
    return texts


def _text(value: object) -> str | None:
    if value is None:
        return None
    return str(value).lower() if isinstance(value, bool) else str(value)


def on_the_command_line(error: KafkaError, topic_settings: Iterable[str] = ()) -> str:
    """Return Kafka's message about a setting with what it lacks: an empty value is shown, and an unknown setting of a
    topic gets a suggestion. Clients receive Kafka's own."""
    message = str(error).replace("Invalid value  for", "Invalid value '' for")
    for name in topic_settings:
        if name not in TopicConfig.SETTINGS and message.endswith(f"Unknown topic config name: {name}"):
            return f"{message}. {near_to_it(name, TopicConfig.SETTINGS)}"
    return message
