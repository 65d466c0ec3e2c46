"""Settings: a file, then the environment, then flags; what is unsafe or unknown is refused."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest

from seedbed_server.app.settings import PREFIX, Settings, SettingsError, load, models_dir, read_operators, read_tokens


@pytest.fixture(autouse=True)
def clean(monkeypatch: pytest.MonkeyPatch) -> None:
    """No setting comes from the environment of the tests."""
    for setting in fields(Settings):
        monkeypatch.delenv(PREFIX + setting.name.upper(), raising=False)


def _file(folder: Path, text: str) -> Path:
    path = folder / "seedbed.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_each_source_overrules_the_one_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Defaults, file, environment, flags."""
    assert load() == Settings()
    config = _file(tmp_path, 'listen = "127.0.0.1:1"\nmax_calls = 1\ndrain_seconds = 1\nllm_model = "file"')
    monkeypatch.setenv("SEEDBED_MAX_CALLS", "2")
    monkeypatch.setenv("SEEDBED_LLM_MODEL", "environment")
    found = load(config, {"llm_model": "flag", "log_format": None})
    assert (found.listen, found.max_calls, found.drain_seconds) == ("127.0.0.1:1", 2, 1.0)
    assert (found.llm_model, found.log_format) == ("flag", "text")


def test_every_setting_can_come_from_everywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And is of its type then."""
    values = {
        "listen": "127.0.0.1:1", "data_dir": "d", "models_dir": "m", "tokens_file": "t", "tls_cert": "c",
        "tls_key": "k", "tls_client_ca": "ca", "max_calls": "3", "max_message_mb": "4", "drain_seconds": "1.5", "hot_memory_mb": "5",
        "min_free_mb": "6", "worker_threads": "2", "llm_url": "http://127.0.0.1", "llm_model": "x", "llm_api_key": "y",
        "llm_extraction_calls": "4", "log_format": "json", "recall_log": "7", "recall_log_mb": "8", "encoder": "e",
    }  # fmt: skip
    assert values.keys() == {setting.name for setting in fields(Settings)}
    wanted = load(None, values)
    assert load(_file(tmp_path, "\n".join(f'{name} = "{value}"' for name, value in values.items()))) == wanted
    for name, value in values.items():
        monkeypatch.setenv(PREFIX + name.upper(), value)
    assert load() == wanted
    assert isinstance(wanted.data_dir, Path)
    assert (wanted.max_calls, wanted.drain_seconds) == (3, 1.5)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("lisen = 1", r"unknown keys: lisen \(listen may be meant\)"),
        ("Max_Calls = 1", r"unknown keys: Max_Calls \(max_calls may be meant\)"),
        ('llm_url = "notaurl"', "llm_url: must be an address such as http://"),
        ('llm_url = "localhost:8080/v1"', "llm_url: must be an address"),
        ('llm_url = "ftp://localhost"', "llm_url: must be an address"),
        ('llm_url = "http://"', "llm_url: must be an address"),
        ('llm_url = "http://localhost:x"', "llm_url: must be an address"),
        ('llm_url = "http://[::1"', "llm_url: must be an address"),
        ("b = 1\na = 2", "unknown keys: a, b"),
        ("listen = ", "cannot be read as TOML"),
        ('max_calls = "many"', "max_calls: is not a whole number"),
        ("drain_seconds = [1]", "drain_seconds: is not a number"),
        ("max_calls = 0", "max_calls: must be at least 1"),
        ("worker_threads = -1", "worker_threads: must be at least 1"),
        ("recall_log = -1", "recall_log: must be a number from 0"),
        ("recall_log_mb = 0", "recall_log_mb: must be at least 1"),
        ('log_format = "xml"', "log_format"),
        ('tls_cert = "c"', "tls_cert and tls_key"),
        ('tls_client_ca = "c"', "tls_client_ca"),
        ('listen = "0.0.0.0:7700"', "loopback only"),
        ("llm_extraction_calls = 4", "llm_extraction_calls: needs llm_url"),
        ("llm_extraction_calls = 65", "llm_extraction_calls: must be from 0 to 64"),
        ('listen = "nonsense"', "HOST:PORT"),
        ('listen = "127.0.0.1:65536"', "HOST:PORT"),
        ('listen = "127.0.0.1:+7"', "HOST:PORT"),
    ],
)
def test_what_cannot_work_is_refused_by_name(tmp_path: Path, text: str, said: str) -> None:
    """The operator reads which setting, and why."""
    with pytest.raises(SettingsError, match=said):
        load(_file(tmp_path, text))


def test_a_config_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    """Rather than started without."""
    with pytest.raises(SettingsError, match=r"nowhere\.toml cannot be read"):
        load(tmp_path / "nowhere.toml")


@pytest.mark.parametrize(
    "listen",
    ["0.0.0.0:7700", "[::]:7700", ":7700", "192.168.0.5:7700", "example.org:7700", "localhost.example.org:7700",
     "127.example.org:7700", "10.127.0.1:7700"],
)  # fmt: skip
def test_without_access_tokens_only_loopback_is_listened_on(listen: str) -> None:
    """Tokens or mutual TLS open the rest."""
    with pytest.raises(SettingsError, match="loopback only"):
        Settings(listen=listen)
    Settings(listen=listen, tokens_file=Path("tokens.toml"))
    Settings(listen=listen, tls_cert=Path("c"), tls_key=Path("k"), tls_client_ca=Path("ca"))
    with pytest.raises(SettingsError, match="loopback only"):
        Settings(listen=listen, tls_cert=Path("c"), tls_key=Path("k"))


@pytest.mark.parametrize("listen", ["127.0.0.1:7700", "127.0.0.53:0", "localhost:7700", "[::1]:7700"])
def test_loopback_needs_no_tokens(listen: str) -> None:
    """It is the default."""
    assert Settings(listen=listen).listen == listen


def test_secrets_are_not_shown() -> None:
    """Only whether they are set; and not in repr either."""
    settings = Settings(llm_api_key="kanarienvogel")
    assert settings.shown().keys() == {setting.name for setting in fields(Settings)}
    assert settings.shown()["llm_api_key"] == "(set)"
    assert Settings().shown()["llm_api_key"] == "(not set)"
    assert "kanarienvogel" not in repr(settings) + str(settings.shown())


GOOD = "a" * 64


def test_tokens_are_read_by_their_hash(tmp_path: Path) -> None:
    """In lower case, each with its namespaces."""
    path = _file(tmp_path, f'[tokens]\nacme = {{ sha256 = "{GOOD.upper()}", namespaces = ["a", "b"] }}')
    assert read_tokens(path) == {GOOD: ("a", "b")}
    assert read_tokens(None) is None


def test_an_operator_s_token_says_so(tmp_path: Path) -> None:
    """No other token is one, and what is neither true nor false is refused."""
    tenant = f'[tokens]\nacme = {{ sha256 = "{GOOD}", namespaces = ["a"] }}\n'
    path = _file(tmp_path, tenant + f'ops = {{ sha256 = "{"B" * 64}", namespaces = ["a"], operator = true }}')
    assert read_operators(path) == {"b" * 64}
    assert read_operators(None) == frozenset()
    path = _file(tmp_path, tenant + f'ops = {{ sha256 = "{"b" * 64}", namespaces = ["a"], operator = "no" }}')
    with pytest.raises(SettingsError, match="operator"):
        read_operators(path)


@pytest.mark.parametrize(
    "text",
    [
        "", "[tokens]", "tokens = 1", "[tokens]\nacme = 1", "[tokens]\nacme = {}", "[tokens", "\udcff",
        f'[tokens]\nacme = {{ sha256 = "{GOOD}" }}',
        f'[tokens]\nacme = {{ sha256 = "{GOOD[1:]}", namespaces = ["a"] }}',
        f'[tokens]\nacme = {{ sha256 = "{GOOD[1:]}g", namespaces = ["a"] }}',
        '[tokens]\nacme = { sha256 = 7, namespaces = ["a"] }',
        f'[tokens]\nacme = {{ sha256 = "{GOOD}", namespaces = [] }}',
        f'[tokens]\nacme = {{ sha256 = "{GOOD}", namespaces = [""] }}',
        f'[tokens]\nacme = {{ sha256 = "{GOOD}", namespaces = [1] }}',
        f'[tokens]\nacme = {{ sha256 = "{GOOD}", namespaces = "all" }}',
        f'[tokens]\na = {{ sha256 = "{GOOD}", namespaces = ["a"] }}\nb = {{ sha256 = "{GOOD}", namespaces = ["b"] }}',
    ],
)  # fmt: skip
def test_a_tokens_file_that_does_not_say_what_it_opens_is_refused(tmp_path: Path, text: str) -> None:
    """A server that was meant to have tokens never starts without them; the file is named, its content is not."""
    path = tmp_path / "tokens.toml"
    path.write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(SettingsError, match=r"tokens_file: .*tokens.toml") as caught:
        read_tokens(path)
    assert GOOD[1:] not in str(caught.value)


def test_a_tokens_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    """By name."""
    with pytest.raises(SettingsError, match=r"nowhere\.toml"):
        read_tokens(tmp_path / "nowhere.toml")


def test_where_the_models_are(tmp_path: Path) -> None:
    """As set; else in the checkout that the package runs from."""
    assert models_dir(Settings(models_dir=tmp_path)) == tmp_path
    assert models_dir(Settings()) == Path(__file__).parents[2] / "models" / "weights"


@pytest.mark.parametrize(
    ("name", "value"),
    [("data_dir", ""), ("listen", ""), ("drain_seconds", "nan"), ("drain_seconds", "inf"), ("drain_seconds", "-1"),
     ("hot_memory_mb", "-5"), ("min_free_mb", "-1"), ("max_message_mb", "2048"), ("max_calls", ""), ("max_calls", "1.5")],
)  # fmt: skip
def test_values_that_mean_nothing_are_refused(name: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """From a flag and from the environment; a setting whose default is nothing may be empty."""
    with pytest.raises(SettingsError, match=name):
        load(None, {name: value})
    monkeypatch.setenv(f"SEEDBED_{name.upper()}", value)
    with pytest.raises(SettingsError, match=name):
        load()
    assert load(None, {name: Settings().shown()[name], "tokens_file": ""}).tokens_file is None


def test_misspelt_settings_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other variables may begin alike: an orchestrator makes some by itself."""
    with pytest.raises(SettingsError, match="max_cals"):
        load(None, {"max_cals": "7"})
    monkeypatch.setenv("SEEDBED_PORT_7700_TCP", "tcp://10.0.0.1:7700")
    load()
    monkeypatch.setenv("SEEDBED_DATADIR", "/srv")
    with pytest.raises(SettingsError, match="SEEDBED_DATA_DIR may be meant"):
        load()
