//! Countries and currencies as people and APIs write them: ISO 3166-1 and ISO 4217.

/// The three-letter codes of currencies in use.
const CURRENCIES: &str = "AED AFN ALL AMD ANG AOA ARS AUD AWG AZN BAM BBD BDT BGN BHD BIF BMD BND BOB BRL BSD BTN BWP BYN BZD CAD CDF CHF CLP CNY COP CRC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GNF GTQ GYD HKD HNL HTG HUF IDR ILS INR IQD IRR ISK JMD JOD JPY KES KGS KHR KMF KPW KRW KWD KYD KZT LAK LBP LKR LRD LSL LYD MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MYR MZN NAD NGN NIO NOK NPR NZD OMR PAB PEN PGK PHP PKR PLN PYG QAR RON RSD RUB RWF SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SYP SZL THB TJS TMT TND TOP TRY TTD TWD TZS UAH UGX USD UYU UZS VED VES VND VUV WST XAF XCD XOF XPF YER ZAR ZMW ZWG";

/// The codes and names of countries.
const COUNTRIES: &str = "AD Andorra;AE United Arab Emirates;AF Afghanistan;AG Antigua and Barbuda;AL Albania;AM Armenia;AO Angola;AR Argentina;AT Austria;AU Australia;AZ Azerbaijan;BA Bosnia and Herzegovina;BB Barbados;BD Bangladesh;BE Belgium;BF Burkina Faso;BG Bulgaria;BH Bahrain;BI Burundi;BJ Benin;BN Brunei;BO Bolivia;BR Brazil;BS Bahamas;BT Bhutan;BW Botswana;BY Belarus;BZ Belize;CA Canada;CD Democratic Republic of the Congo;CF Central African Republic;CG Congo;CH Switzerland;CI Ivory Coast;CL Chile;CM Cameroon;CN China;CO Colombia;CR Costa Rica;CU Cuba;CV Cape Verde;CY Cyprus;CZ Czechia;DE Germany;DJ Djibouti;DK Denmark;DM Dominica;DO Dominican Republic;DZ Algeria;EC Ecuador;EE Estonia;EG Egypt;ER Eritrea;ES Spain;ET Ethiopia;FI Finland;FJ Fiji;FM Micronesia;FR France;GA Gabon;GB United Kingdom;GD Grenada;GE Georgia;GH Ghana;GM Gambia;GN Guinea;GQ Equatorial Guinea;GR Greece;GT Guatemala;GW Guinea-Bissau;GY Guyana;HK Hong Kong;HN Honduras;HR Croatia;HT Haiti;HU Hungary;ID Indonesia;IE Ireland;IL Israel;IN India;IQ Iraq;IR Iran;IS Iceland;IT Italy;JM Jamaica;JO Jordan;JP Japan;KE Kenya;KG Kyrgyzstan;KH Cambodia;KI Kiribati;KM Comoros;KN Saint Kitts and Nevis;KP North Korea;KR South Korea;KW Kuwait;KZ Kazakhstan;LA Laos;LB Lebanon;LC Saint Lucia;LI Liechtenstein;LK Sri Lanka;LR Liberia;LS Lesotho;LT Lithuania;LU Luxembourg;LV Latvia;LY Libya;MA Morocco;MC Monaco;MD Moldova;ME Montenegro;MG Madagascar;MH Marshall Islands;MK North Macedonia;ML Mali;MM Myanmar;MN Mongolia;MR Mauritania;MT Malta;MU Mauritius;MV Maldives;MW Malawi;MX Mexico;MY Malaysia;MZ Mozambique;NA Namibia;NE Niger;NG Nigeria;NI Nicaragua;NL Netherlands;NO Norway;NP Nepal;NR Nauru;NZ New Zealand;OM Oman;PA Panama;PE Peru;PG Papua New Guinea;PH Philippines;PK Pakistan;PL Poland;PS Palestine;PT Portugal;PW Palau;PY Paraguay;QA Qatar;RO Romania;RS Serbia;RU Russia;RW Rwanda;SA Saudi Arabia;SB Solomon Islands;SC Seychelles;SD Sudan;SE Sweden;SG Singapore;SI Slovenia;SK Slovakia;SL Sierra Leone;SM San Marino;SN Senegal;SO Somalia;SR Suriname;SS South Sudan;ST Sao Tome and Principe;SV El Salvador;SY Syria;SZ Eswatini;TD Chad;TG Togo;TH Thailand;TJ Tajikistan;TL Timor-Leste;TM Turkmenistan;TN Tunisia;TO Tonga;TR Turkey;TT Trinidad and Tobago;TV Tuvalu;TW Taiwan;TZ Tanzania;UA Ukraine;UG Uganda;US United States;UY Uruguay;UZ Uzbekistan;VA Vatican City;VC Saint Vincent and the Grenadines;VE Venezuela;VN Vietnam;VU Vanuatu;WS Samoa;YE Yemen;ZA South Africa;ZM Zambia;ZW Zimbabwe";

/// Signs that stand before or after an amount.
pub(crate) const SIGNS: [char; 9] = ['$', '€', '£', '¥', '₦', '₵', '₹', '₱', '₩'];

/// Whether a text is the code of a currency, in capitals.
pub fn is_currency(text: &str) -> bool {
    text.len() == 3 && CURRENCIES.split(' ').any(|code| code == text)
}

/// What currencies and their parts are called in plain words; several share some of them.
const NAMES: [&str; 40] = [
    "naira",
    "kobo",
    "cedi",
    "cedis",
    "pesewa",
    "pesewas",
    "rand",
    "shilling",
    "shillings",
    "dollar",
    "dollars",
    "buck",
    "bucks",
    "cent",
    "cents",
    "euro",
    "euros",
    "pound",
    "pounds",
    "penny",
    "pence",
    "quid",
    "yen",
    "yuan",
    "won",
    "rupee",
    "rupees",
    "paisa",
    "paise",
    "franc",
    "francs",
    "peso",
    "pesos",
    "real",
    "reais",
    "krona",
    "kroner",
    "dirham",
    "dirhams",
    "zloty",
];

/// Whether a word beside a number makes an amount of money of it: a code, a name or a sign.
pub(crate) fn says_currency(word: &str) -> bool {
    let mut chars = word.chars();
    let sign = chars.next().is_some_and(|first| SIGNS.contains(&first)) && chars.next().is_none();
    sign || is_currency(word) || NAMES.iter().any(|name| name.eq_ignore_ascii_case(word))
}

/// A number whose thousands are parted by commas, without them; none where the commas are no such.
pub(crate) fn without_groups(text: &str) -> Option<String> {
    let (whole, rest) = match text.split_once('.') {
        Some((whole, rest)) if !rest.contains(',') => (whole, Some(rest)),
        Some(_) => return None,
        None => (text, None),
    };
    let mut groups = whole.trim_start_matches('-').split(',');
    let first = groups.next()?;
    let others: Vec<&str> = groups.collect();
    // Hundreds of thousands are parted after two digits in some countries.
    let (last, middle) = others.split_last()?;
    let fits = (1..=3).contains(&first.len())
        && last.len() == 3
        && middle.iter().all(|group| matches!(group.len(), 2 | 3));
    let digits = whole.replace(',', "");
    fits.then(|| match rest {
        Some(rest) => format!("{digits}.{rest}"),
        None => digits,
    })
}

fn countries() -> impl Iterator<Item = (&'static str, &'static str)> {
    COUNTRIES.split(';').filter_map(|row| row.split_once(' '))
}

/// The code of a country that is written as its code or its name, in whatever case.
pub fn country_code(text: &str) -> Option<&'static str> {
    let text = text.trim();
    let found = countries()
        .find(|(code, name)| code.eq_ignore_ascii_case(text) || name.eq_ignore_ascii_case(text));
    found.map(|(code, _)| code)
}

/// The first country that a text names in full: where the name stands, and the country's code.
pub fn country_in(text: &str) -> Option<(usize, usize, &'static str)> {
    let folded = text.to_ascii_lowercase();
    let mut best: Option<(usize, usize, &'static str)> = None;
    for (code, name) in countries() {
        let name = name.to_ascii_lowercase();
        for (at, _) in folded.match_indices(name.as_str()) {
            let end = at + name.len();
            let apart = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric());
            let whole =
                apart(folded[..at].chars().next_back()) && apart(folded[end..].chars().next());
            let better =
                best.is_none_or(|(start, until, _)| at < start || at == start && end > until);
            if whole && better {
                best = Some((at, end, code));
            }
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_and_names_are_known() {
        assert!(is_currency("NGN") && is_currency("USD"));
        assert!(!is_currency("API") && !is_currency("ngn") && !is_currency("US"));
        for (text, code) in [
            ("NG", Some("NG")),
            ("nigeria", Some("NG")),
            ("South Africa", Some("ZA")),
            ("Narnia", None),
        ] {
            assert_eq!(country_code(text), code, "{text}");
        }
    }

    #[test]
    fn thousands_are_parted_by_commas_and_nothing_else_is() {
        for (text, expected) in [
            ("5,000", Some("5000")),
            ("-1,234,567.50", Some("-1234567.50")),
            ("1,00,000", Some("100000")),
            ("5,5", None),
            ("5000", None),
            ("1,2345", None),
            ("1.000,5", None),
            (",000", None),
        ] {
            assert_eq!(without_groups(text).as_deref(), expected, "{text}");
        }
        for word in ["NGN", "Naira", "₦", "dollars"] {
            assert!(says_currency(word), "{word}");
        }
        assert!(!says_currency("ngn") && !says_currency("items") && !says_currency(""));
    }

    #[test]
    fn a_country_is_found_by_its_whole_name() {
        for (text, expected) in [
            ("charge a card in Nigeria", Some(("Nigeria", "NG"))),
            ("send to South Sudan", Some(("South Sudan", "SS"))),
            ("transfer from Nigerian bank", None),
            ("list the omani banks", None),
            ("Ghana or Kenya", Some(("Ghana", "GH"))),
        ] {
            let found = country_in(text).map(|(from, to, code)| (&text[from..to], code));
            assert_eq!(found, expected, "{text}");
        }
    }
}
