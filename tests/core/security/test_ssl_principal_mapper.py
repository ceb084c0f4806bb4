"""Rules that map a certificate's name to a principal; cases after SslPrincipalMapperTest of Kafka 4.0."""

from __future__ import annotations

import pytest

from fakebroker.core.errors import ConfigError
from fakebroker.core.security.ssl_principal_mapper import mapped_name, parse_rules

NAME = "CN=Duke,OU=ServiceUsers,O=Org,C=US"


@pytest.mark.parametrize(
    ("rules", "name", "expected"),
    [
        ("DEFAULT", NAME, NAME),
        ("", NAME, None),
        ("RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/", NAME, "Duke"),
        ("RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/L", NAME, "duke"),
        ("RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/U", NAME, "DUKE"),
        ("RULE:^CN=(.*?),OU=(.*?),O=(.*?),C=(.*?)$/$1@$2/L", NAME, "duke@serviceusers"),
        ("RULE:^CN=(.*?),.*$/$1@$4/", NAME, "Duke@$4"),
        ("RULE:^CN=(.*?),.*$/$12/", NAME, "Duke2"),
        ("RULE:^CN=(.*?),.*$/$0!/", NAME, f"{NAME}!"),
        (f"RULE:^CN=(.*?),.*$/$1{'0' * 5000}/", NAME, f"Duke{'0' * 5000}"),
        (f"RULE:^CN=(.*?),.*$/${'9' * 5000}/", NAME, f"${'9' * 5000}"),
        (f"RULE:^CN=(.*?),.*$/${'0' * 5000}1/", NAME, "Duke"),
        (r"RULE:^CN=(.*?),.*$/\$1/", NAME, "$1"),
        ("RULE:^CN=(x)?Duke,.*$/[$1]/", NAME, "[]"),
        ("RULE:^OU=.*$/none/", NAME, None),
        ("RULE:Duke/part/", NAME, None),
        ("RULE:^OU=.*$/none/ , DEFAULT", NAME, NAME),
        ("RULE:^uid=(.*?)$/$1/,RULE:^CN=(.*?),.*$/$1/", NAME, "Duke"),
        (r"RULE:^CN=([^,]*),.*$/a\/b/", NAME, "a/b"),
        ("DEFAULT,RULE:.*/x/", NAME, NAME),
    ],
)
def test_the_first_rule_that_matches_gives_the_name(rules: str, name: str, expected: str | None) -> None:
    assert mapped_name(rules, name) == expected


@pytest.mark.parametrize(
    "rules", ["NONSENSE", "RULE", "RULE:x", "RULE:x/y", "RULE:x/y/Z", "RULE:x/y/LU", "DEFAULT/", "RULE:(/x/"]
)
def test_what_is_no_rule_is_refused(rules: str) -> None:
    with pytest.raises(ConfigError, match="Invalid rule: `"):
        parse_rules(rules)


@pytest.mark.parametrize("pattern", ["a{99999999999}", f"{'(' * 3000}{')' * 3000}"])
def test_a_pattern_that_python_cannot_compile_is_refused(pattern: str) -> None:
    with pytest.raises(ConfigError, match="Invalid rule: `RULE:"):
        parse_rules(f"DEFAULT,RULE:{pattern}/x/")
