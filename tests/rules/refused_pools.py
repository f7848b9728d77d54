"""Pools files that must be refused: what is wrong, the text, the line to blame, how the complaint begins."""

G = '[pools.a]\nruleset = "gammon42"\n'
S = '[pools.a]\nruleset = "season0"\n'
V = G + "versions = [{version = '1.3.1', from = "
B = '[pools.a]\nruleset = "blitzgammon"\n'

REFUSED: dict[str, tuple[str, int, str]] = {
    "empty": ("", 1, "there is no pool; add a table such as [pools.gammon42]"),
    "only a comment": ("# nothing\n\n", 1, "there is no pool"),
    "no pool in the table": ("\n[pools]\n", 2, "pools has no pool"),
    "pools is a number": ("pools = 3", 1, "pools must be a table"),
    "not TOML": ("[pools.a]\nruleset = gammon42\n", 2, "not TOML"),
    "not TOML at its end": ("[pools.a]\nruleset =", 2, "not TOML"),
    "a pool twice": (G + "[pools.a]\n", 3, "not TOML"),
    "a key twice": (G + "k = 1\nk = 2\n", 4, "not TOML"),
    "top-level key": ("# c\npool = 1\n" + G, 2, "pool is not known here (did you mean 'pools'?)"),
    "top-level table": (G + "\n[pol.b]\n", 4, "pol is not known here"),
    "unknown key": (
        G + "\n# c\nheavy_gmes = 3\n",
        5,
        "pools.a.heavy_gmes is not known here (did you mean 'heavy_games'?)",
    ),
    "key of another ruleset": (
        S + "heavy_games = 3\n",
        3,
        "pools.a.heavy_games is not known here; the keys are: ruleset",
    ),
    "private field": (S + "_ks = [1]\n", 3, "pools.a._ks is not known here"),
    "no ruleset": (
        "[pools.b]\nruleset = 'nardeon'\n\n[pools.a]\nk = 3\n",
        4,
        "pools.a has no ruleset; add one of: gammon42",
    ),
    "unknown ruleset": ("[pools.a]\nruleset = 'gamon42'\n", 2, "pools.a.ruleset must be one of"),
    "ruleset suggested": (
        "[pools.a]\nruleset = 'gamon42'\n",
        2,
        "pools.a.ruleset must be one of: gammon42, blitzgammon, nardeon, season0; not 'gamon42' "
        "(did you mean 'gammon42'?)",
    ),
    "ruleset is a list": ("[pools.a]\nruleset = [1]\n", 2, "pools.a.ruleset must be one of"),
    "upper-case name": ("\n[pools.Main]\nruleset = 'nardeon'\n", 2, "pools.Main is no name for a pool"),
    "name begins with a hyphen": ("[pools.-a]\nruleset = 'nardeon'\n", 1, "pools.-a is no name for a pool"),
    "name with a line feed": ('[pools."a\\n"]\nruleset = "nardeon"\n', 1, "pools.'a\\n' is no name for a pool"),
    "name too long": (f"[pools.{'a' * 33}]\nruleset = 'nardeon'\n", 1, f"pools.{'a' * 33} is no name for a pool"),
    "empty name": ("[pools.'']\nruleset = 'nardeon'\n", 1, "pools.'' is no name for a pool"),
    "pool is a number": ("[pools]\na = 3\n", 2, "pools.a must be a table; write [pools.a]"),
    "text for a number": (G + "k = '32'\n", 3, "pools.a.k must be a number from"),
    "bool for a number": (G + "k = true\n", 3, "pools.a.k must be a number from"),
    "nan": (G + "k = nan\n", 3, "pools.a.k must be a number from"),
    "inf": (G + "k = inf\n", 3, "pools.a.k must be a number from"),
    "bool for an integer": (G + "starting_rating = true\n", 3, "pools.a.starting_rating must be a whole number"),
    "float for an integer": (G + "starting_rating = 1500.0\n", 3, "pools.a.starting_rating must be a whole number"),
    "no retention": (G + "retention_days = 0\n", 3, "pools.a.retention_days must be a whole number from 1"),
    "half a day": (G + "retention_days = 0.5\n", 3, "pools.a.retention_days must be a whole number from 1"),
    "below the floor": (
        B + "\nstarting_rating = 99\n",
        4,
        "pools.a.starting_rating must not be below the floor of 100",
    ),
    "floor above the default start": (B + "\nfloor = 2000\n", 1, "pools.a.starting_rating must not be below the floor"),
    "k_min above k_max": (B + "k_max = 9\nk_min = 10\n", 4, "pools.a.k_min must not be above k_max (9)"),
    "Windows line ends": ("[pools.a]\r\nruleset = 'season0'\r\n\r\nk = 3\r\n", 4, "pools.a.k is not known here"),
    "dotted keys": ("pools.a.ruleset = 'season0'\npools.a.divisor = 0\n", 2, "pools.a.divisor must be a number"),
    "inline tables": (
        "[pools]\nb = {ruleset = 'season0'}\na = {ruleset = 'season0', divisor = 0}\n",
        3,
        "pools.a.divisor must",
    ),
    "multi-line text": (G + 'k = """\n32\n"""\n', 3, "pools.a.k must be a number"),
    "versions is text": (
        G + "versions = '1.3.1'\n",
        3,
        "pools.a.versions must be a list of { version = ..., from = ... }",
    ),
    "versions is empty": (G + "versions = []\n", 3, "pools.a.versions must have at least one entry"),
    "version is text": (G + "versions = ['1.3.1']\n", 3, "pools.a.versions[0] must be { version = ..., from = ... }"),
    "version without from": (G + "versions = [{version = '1.3.1'}]\n", 3, "pools.a.versions[0] has no from"),
    "version misspelt": (
        G + "versions = [{vers = '1.3.1', from = 2026-01-01T00:00:00Z}]\n",
        3,
        "pools.a.versions[0].vers is not known here (did you mean 'version'?)",
    ),
    "version before 1.0.5": (
        G + "versions = [ # c\n  {version = '1.0.4', from = 2026-01-01T00:00:00Z},\n]\n",
        4,
        "pools.a.versions[0] is 1.0.4, but nothing before 1.0.5 is published",
    ),
    "versions descend": (
        G + "versions = [\n{version = '1.10.0', from = 2026-01-01T00:00:00Z},\n\n"
        "{version = '1.9.0', from = 2026-02-01T00:00:00Z},\n]\n",
        6,
        "pools.a.versions[1] must ascend: 1.9.0 is not after",
    ),
    "instants do not ascend": (
        G + "[[pools.a.versions]]\nversion = '1.0.5'\nfrom = 2026-01-01T00:00:00Z\n"
        "[[pools.a.versions]]\nversion = '1.2.0'\nfrom = 2026-01-01T01:00:00+01:00\n",
        6,
        "pools.a.versions[1] must ascend: 1.2.0 does not begin after",
    ),
    "version is a float": (
        G + "versions = [{version = 1.3, from = 2026-01-01T00:00:00Z}]\n",
        3,
        "pools.a.versions[0] must have a version of three numbers",
    ),
    "version with a sign": (
        G + "versions = [{version = '1.-3.1', from = 2026-01-01T00:00:00Z}]\n",
        3,
        "pools.a.versions[0] must have a version of three numbers",
    ),
    "instant without zone": (
        V + "2026-01-01T00:00:00}]\n",
        3,
        "pools.a.versions[0].from must be an instant with a zone",
    ),
    "instant is a day": (
        V + "2026-01-01}]\n",
        3,
        "pools.a.versions[0].from must be an instant with a zone, such as \"2026-10-01T00:00:00Z\", not '2026-01-01'",
    ),
    "instant as text without zone": (V + "'2026-01-01T00:00:00'}]\n", 3, "pools.a.versions[0].from must be"),
    "no such day": (V + "'2026-02-30T00:00:00Z'}]\n", 3, "pools.a.versions[0].from must be"),
    "instant is a number": (V + "1700000000}]\n", 3, "pools.a.versions[0].from must be"),
    "tiers do not begin at 0": (
        S + "k_tiers = [{from_games = 1, k = 16}]\n",
        3,
        "pools.a.k_tiers[0] must begin with from_games = 0",
    ),
    "tiers do not ascend": (
        S + "k_tiers = [\n  {from_games = 0, k = 40},\n  {from_games = 30, k = 20},\n  {from_games = 30, k = 16},\n]\n",
        6,
        "pools.a.k_tiers[2] must ascend",
    ),
    "no tiers": (S + "k_tiers = []\n", 3, "pools.a.k_tiers must have at least one entry"),
    "a tier without k": (S + "k_tiers = [{from_games = 0}]\n", 3, "pools.a.k_tiers[0] has no k"),
    "a tier with a bool": (S + "k_tiers = [{from_games = 0, k = true}]\n", 3, "pools.a.k_tiers[0] must be a number"),
    "a tier misspelt": (
        S + "k_tiers = [{from_game = 0, k = 16}]\n",
        3,
        "pools.a.k_tiers[0].from_game is not known here (did you mean 'from_games'?)",
    ),
}
