"""Units of columns: inferred from the values, as in "12 kg", or by the name, as in "mass (kg)"."""

import re

_NAMES = """
% ‰ ° °C °F K C F rad deg
kg g mg µg ug t lb lbs oz
km m cm mm µm um nm mi ft in yd km2 m2 cm2 mm2 km² m² cm² mm² ha acre sqft sqm m3 m³ cm3 cm³
l L ml mL cl dl µl gal s sec ms µs us ns min h hr hour hours d day days week weeks month months
year years yr yrs a Hz kHz MHz GHz rpm bpm N Pa hPa kPa MPa bar mbar psi atm mmHg J kJ MJ cal kcal
W kW MW Wh kWh MWh V mV kV A mA Ah Ω ohm F H T mol mmol µmol M mM lx lm cd dB dBm ppm ppb IU U
px pixel pixels bit bits byte bytes kB MB GB TB
$ € £ ¥ USD EUR GBP CHF JPY CNY INR SEK NOK DKK CAD AUD k$ k€ kUSD kEUR
persons people inhabitants
"""
UNITS_IN_NAMES = frozenset(_NAMES.split())
_AT_THE_END = re.compile(r".*\S\s*[(\[]\s*([^()\[\]]{1,16}?)\s*[)\]]")


def unit_of(name: str) -> str:
    """The unit that a name ends with, in brackets; empty if there is none that is known.

    >>> unit_of("mass (kg)"), unit_of("speed [km/h]"), unit_of("bmi (kg/m^2)"), unit_of("age (log)")
    ('kg', 'km/h', 'kg/m^2', '')
    """
    found = _AT_THE_END.fullmatch(name.strip())
    if found is None:
        return ""
    parts = re.split(r"\s*[/*·]\s*|\s+per\s+", found[1])
    known = all(
        re.sub(r"\^?-?\d$", "", part) in UNITS_IN_NAMES or part in UNITS_IN_NAMES for part in parts
    )
    return found[1] if known else ""
