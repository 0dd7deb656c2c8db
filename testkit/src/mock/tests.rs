//! The mock refuses what is wrong and says all of it; what is right it accepts, in every style.

use super::*;

const SHOP: &str = include_str!("fixtures/shop.yaml");
const OLD: &str = include_str!("fixtures/old.json");

/// A request: `METHOD target`, headers, body.
fn asked(line: &str, headers: &[(&str, &str)], body: &str) -> Received {
    let (method, target) = line.split_once(' ').unwrap();
    let headers = headers
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    Received {
        method: method.to_owned(),
        target: target.to_owned(),
        headers: headers.collect(),
        body: body.as_bytes().to_vec(),
    }
}

#[track_caller]
fn check(mock: &Mock, asked: &Received, expected: &[&str]) {
    let found = mock.judge(asked).against;
    let as_expected = found.len() == expected.len()
        && found
            .iter()
            .zip(expected)
            .all(|(found, expected)| found.starts_with(expected));
    assert!(as_expected, "{asked:?}\n{found:#?}\nexpected {expected:#?}");
}

#[test]
fn parameters_are_held_to_their_style_and_schema() {
    let shop = Mock::read(SHOP).unwrap();
    let table: &[(&str, &[&str])] = &[
        ("", &[]),
        ("&expand[0]=a&expand[1]=b", &[]),
        ("&expand[]=a&expand[]=b", &[]),
        (
            "&expand=a",
            &["query.expand: \"a\" is not of type \"array\""],
        ),
        ("&expand[0][x]=a", &["query.expand.0: "]),
        (
            "&expand[0]=a&expand[0]=b",
            &["query.expand: `expand[0]` is written twice"],
        ),
        ("&created=5", &[]),
        ("&created[gt]=5", &[]),
        ("&created[gt]=soon", &["query.created: "]),
        (
            "&created[gt]=5&created=5",
            &["query.created: it is written in two ways"],
        ),
        ("&state=open&state=paid", &[]),
        (
            "&state=open,paid",
            &["query.state.0: \"open,paid\" is not one of"],
        ),
        ("&state[0]=open", &["query.state[0]: is no parameter here"]),
        ("&ids=1,2", &[]),
        (
            "&ids=1,x",
            &["query.ids.1: \"x\" is not of type \"integer\""],
        ),
        ("&ids=1&ids=2", &["query.ids: it is written 2 times"]),
        ("&tags=a%7Cb", &[]),
        ("&tags=a|b", &[]),
        ("&tags=a,b", &[]),
        (
            "&tags=abc,def",
            &["query.tags.0: \"abc,def\" is longer than 3"],
        ),
        ("&words=a%20b", &[]),
        ("&words=a+b", &[]),
        (
            "&words=a,b",
            &["query.words: [\"a,b\"] has less than 2 items"],
        ),
        ("&w=1&h=2", &[]),
        (
            "&w=wide",
            &["query.box.w: \"wide\" is not of type \"integer\""],
        ),
        ("&filter=%7B%22a%22%3A1%7D", &[]),
        (
            "&filter=%7B%7D",
            &["query.filter: \"a\" is a required property"],
        ),
        (
            "&filter=a",
            &["query.filter: \"a\" is not of type \"object\""],
        ),
        (
            "&sort=up&side=2",
            &["query.sort: is no parameter here", "query.side: is no"],
        ),
    ];
    for (query, expected) in table {
        check(
            &shop,
            &asked(&format!("GET /orders/7?api_key=k{query}"), &[], ""),
            expected,
        );
    }
    let of_seven = "GET /orders/7?api_key=k";
    check(
        &shop,
        &asked(of_seven, &[("x-trace", "1,2"), ("cookie", "visit=3")], ""),
        &[],
    );
    check(
        &shop,
        &asked(
            of_seven,
            &[("x-trace", "1,b"), ("cookie", "visit=x; other=1")],
            "",
        ),
        &[
            "header.X-Trace.1: ",
            "cookie.visit: ",
            "cookie.other: is no parameter",
        ],
    );
}

#[test]
fn paths_are_found_and_their_values_held_to_their_style() {
    let shop = Mock::read(SHOP).unwrap();
    let table: &[(&str, &[&str])] = &[
        (
            "GET /orders/seven?api_key=k",
            &["path.id: \"seven\" is not of type \"integer\""],
        ),
        ("GET /orders/last", &[]),
        (
            "GET /orders/7/lines?api_key=k",
            &["path: no operation has it"],
        ),
        ("PATCH /orders/7", &["method: no operation has it here"]),
        ("GET /maps/.1.2/;in=3,4/x,5.json", &[]),
        (
            "GET /maps/1,2/;in=3/x,5.json",
            &["path.at: style label begins with `.`"],
        ),
        (
            "GET /maps/.1/3/x,5.json",
            &["path.in: style matrix begins with `;`"],
        ),
        (
            "GET /maps/.1/;out=3/x,5.json",
            &["path.in: style matrix names `in`"],
        ),
        (
            "GET /maps/.1/;in=3/x=5.json",
            &["path.to: \"x=5\" is not of type \"object\""],
        ),
        ("GET /maps/.1/;in=3/x,5.xml", &["path: no operation has it"]),
    ];
    for (line, expected) in table {
        check(&shop, &asked(line, &[], ""), expected);
    }
    let statuses = [
        ("GET /nowhere", 404),
        ("PATCH /orders/7", 405),
        ("GET /orders/last", 200),
    ];
    for (line, status) in statuses {
        assert_eq!(shop.judge(&asked(line, &[], "")).status, status);
    }
}

#[test]
fn forms_are_held_to_their_brackets() {
    let shop = Mock::read(SHOP).unwrap();
    let table: &[(&str, &[&str])] = &[
        ("amount=5&live=true", &[]),
        (
            "amount=5&items[0][sku]=a&items[0][part][sku]=b&items[1][sku]=c&items[1][count]=2",
            &[],
        ),
        (
            "amount=5&items[0][sku]=a&items[1][count]=2",
            &["body.items.1: \"sku\" is a required"],
        ),
        (
            "amount=5&items[0][sku]=a&items[0][count]=two",
            &["body.items.0.count: \"two\" is not"],
        ),
        (
            "amount=5&items=a",
            &["body.items: \"a\" is not of type \"array\""],
        ),
        ("live=true", &["body: \"amount\" is a required property"]),
        (
            "amount=0&live=maybe",
            &["body.amount: 0 is less than", "body.live: \"maybe\" is not"],
        ),
        ("amount=5&notes=a&notes=b", &[]),
        (
            "amount=5&notes[0]=a",
            &["body.notes[0]: is no field of the form"],
        ),
        ("amount=5&limits=1,2", &[]),
        (
            "amount=5&limits=1&limits=2",
            &["body.limits: it is written 2 times"],
        ),
        ("amount=5&about[a]=1", &[]),
        ("amount=5&about=%7B%22a%22%3A1%7D", &[]),
        (
            "amount=5&about[a]=one",
            &["body.about.a: \"one\" is not of type \"integer\""],
        ),
        ("amount=5&price=", &[]),
        ("amount=5&price[cents]=3", &[]),
        ("amount=5&price[cents]=few", &["body.price: "]),
        (
            "amount=5&amount=6",
            &[
                "body.amount: it is written 2 times",
                "body: \"amount\" is a",
            ],
        ),
        ("amount=5&more=1", &["body.more: is no field of the form"]),
    ];
    let form = [("content-type", "application/x-www-form-urlencoded")];
    for (body, expected) in table {
        check(
            &shop,
            &asked("POST /orders?api_key=k", &form, body),
            expected,
        );
    }
    let made = shop.judge(&asked("POST /orders?api_key=k", &form, "amount=5"));
    assert_eq!((made.status, made.answer), (201, json!({"made": true})));
    assert_eq!(made.operation, "POST /orders");
}

#[test]
fn bodies_are_held_to_their_schema_and_media_type() {
    let shop = Mock::read(SHOP).unwrap();
    let json = "application/json";
    let table: &[(&str, &str, &[&str])] = &[
        (
            json,
            r#"{"amount": 1, "note": null, "item": {"sku": "a"}}"#,
            &[],
        ),
        (
            json,
            r#"{"amount": 0}"#,
            &["body.amount: 0 is less than or equal to"],
        ),
        (
            json,
            r#"{"amount": "1", "item": {}}"#,
            &["body.amount: ", "body.item: \"sku\""],
        ),
        (json, r#"{"amount": 1, "id": "x"}"#, &["body.id: "]),
        (json, "amount=1", &["body: is no JSON"]),
        ("application/json; charset=utf-8", r#"{"amount": 1}"#, &[]),
        (
            "text/plain",
            "1",
            &["body: `text/plain` is none of application/x-www-form-urlencoded, "],
        ),
        ("", "", &["body: is required and missing"]),
    ];
    for (media, body, expected) in table {
        let media = [("content-type", *media)];
        let headers = if media[0].1.is_empty() {
            &[]
        } else {
            &media[..]
        };
        check(
            &shop,
            &asked("POST /orders?api_key=k", headers, body),
            expected,
        );
    }
    let sent = asked(
        "DELETE /orders/7?api_key=k",
        &[("content-type", json)],
        "{}",
    );
    check(&shop, &sent, &["body: the operation takes none"]);
    assert_eq!(
        shop.judge(&asked("DELETE /orders/7?api_key=k", &[], ""))
            .status,
        204
    );
}

#[test]
fn parts_are_held_to_their_schema_and_media_type() {
    let shop = Mock::read(SHOP).unwrap();
    let part = |name: &str, media: &str, content: &str| {
        let media = if media.is_empty() {
            String::new()
        } else {
            format!("Content-Type: {media}\r\n")
        };
        format!(
            "--x\r\nContent-Disposition: form-data; name=\"{name}\"\r\n{media}\r\n{content}\r\n"
        )
    };
    let picture = part("picture", "image/png", "\u{1}--\r\n\u{2}");
    let table: &[(Vec<String>, &[&str])] = &[
        (vec![picture.clone()], &[]),
        (
            vec![
                picture.clone(),
                part("about", "application/json", r#"{"name": 1}"#),
            ],
            &[],
        ),
        (
            vec![
                picture.clone(),
                part("label", "", "1"),
                part("label", "", "2"),
            ],
            &[],
        ),
        (
            vec![picture.clone(), part("label", "", "one")],
            &["body.label.0: \"one\" is not"],
        ),
        (
            vec![picture.clone(), part("about", "", r#"{"name": 1}"#)],
            &["body.about: "],
        ),
        (
            vec![picture.clone(), part("about", "application/json", "{")],
            &["body.about: is no JSON"],
        ),
        (
            vec![picture.clone(), picture.clone()],
            &["body.picture: is written twice"],
        ),
        (
            vec![picture.clone(), part("size", "", "1")],
            &["body.size: is no field of the form"],
        ),
        (
            vec![part("picture", "text/plain", "a")],
            &["body.picture: `text/plain` is none of"],
        ),
        (
            vec![part("about", "application/json", "{}")],
            &["body.about: \"name\" is", "body: \"picture\" is"],
        ),
    ];
    let media = [("content-type", "multipart/form-data; boundary=x")];
    for (parts, expected) in table {
        let body = parts.concat() + "--x--\r\n";
        let asked = asked("POST /files?api_key=k", &media, &body);
        let mut found = shop.judge(&asked).against;
        found.sort_by_key(|one| !one.starts_with("body.about"));
        assert_eq!(found.len(), expected.len(), "{body} {found:#?}");
        for (found, expected) in found.iter().zip(*expected) {
            assert!(
                found.starts_with(expected),
                "{body} {found}, expected {expected}"
            );
        }
    }
    let broken = [
        ("multipart/form-data", "--x--"),
        ("multipart/form-data; boundary=x", "y"),
        ("multipart/form-data; boundary=x", "--x\r\n\r\n"),
    ];
    for (media, body) in broken {
        let asked = asked("POST /files?api_key=k", &[("content-type", media)], body);
        assert_eq!(shop.judge(&asked).against.len(), 1, "{media} {body}");
    }
}

#[test]
fn a_request_says_who_asks() {
    let shop = Mock::read(SHOP).unwrap();
    check(
        &shop,
        &asked("GET /orders/7", &[], ""),
        &["security: none of {\"key\":[]} is used"],
    );
    let old = Mock::read(OLD).unwrap();
    let form = ("content-type", "application/x-www-form-urlencoded");
    let say = |who: &'static str| {
        asked(
            "POST /say",
            &[form, ("token", "t"), ("authorization", who)],
            "text=a",
        )
    };
    check(&old, &say("Bearer t"), &[]);
    check(&old, &say("Basic dTpw"), &[]);
    check(&old, &say("Digest x"), &["security: "]);
    check(&old, &say("Bearer"), &["security: "]);
}

#[test]
fn descriptions_of_the_second_edition_are_read_too() {
    let old = Mock::read(OLD).unwrap();
    assert_eq!(old.operations(), 3);
    let form = [
        ("content-type", "application/x-www-form-urlencoded"),
        ("authorization", "Bearer t"),
        ("token", "t"),
    ];
    let table: &[(&str, &[&str])] = &[
        ("text=a+b&to=1,2&cc=a&cc=b", &[]),
        (
            "text=a&to=1,b",
            &["body.to.1: \"b\" is not of type \"integer\""],
        ),
        ("to=1&to=2&text=a", &["body.to: it is written 2 times"]),
        (
            "tekst=a",
            &[
                "body.tekst: is no field of the form",
                "body: \"text\" is a required",
            ],
        ),
    ];
    for (body, expected) in table {
        check(&old, &asked("POST /say", &form, body), expected);
    }
    check(
        &old,
        &asked("POST /say", &form[..2], "text=a"),
        &["header.token: is required"],
    );
    check(&old, &asked("GET /list?kind=a&sort=a|b", &[], ""), &[]);
    check(
        &old,
        &asked("GET /list?kind=a&sort=a,b", &[], ""),
        &["query.sort.0: \"a,b\" is not one"],
    );
    check(
        &old,
        &asked("GET /list?sort=a", &[], ""),
        &["path: no operation has it"],
    );
    let json = [("content-type", "application/json")];
    check(&old, &asked("PUT /keep", &json, "[1]"), &[]);
    check(
        &old,
        &asked("PUT /keep", &json, "[\"1\"]"),
        &["body.0: \"1\" is not of type"],
    );
    check(
        &old,
        &asked("PUT /keep", &[], ""),
        &["body: is required and missing"],
    );
    assert_eq!(
        old.judge(&asked("POST /say", &form, "text=a")).answer,
        json!({"ok": true})
    );
}

#[test]
fn a_schema_that_cannot_be_used_accepts_nothing_unseen() {
    let text = r##"{"openapi": "3.1.0", "paths": {"/a": {"get": {"parameters": [
        {"name": "x", "in": "query", "schema": {"$ref": "#/components/schemas/Gone"}},
        {"name": "y", "in": "query", "schema": {"type": ["integer", "null"], "exclusiveMinimum": 3}}
    ], "responses": {}}}}}"##;
    let mock = Mock::read(text).unwrap();
    check(
        &mock,
        &asked("GET /a?x=1", &[], ""),
        &["query.x: the schema cannot be used"],
    );
    check(&mock, &asked("GET /a?y=4", &[], ""), &[]);
    check(
        &mock,
        &asked("GET /a?y=3", &[], ""),
        &["query.y: 3 is less than or equal to"],
    );
    let shapes = r#"{"openapi": "3.0.1", "paths": {
        "/a#one": {"put": {"parameters": [{"name": "x", "in": "query", "required": true, "schema": {"type": "integer", "exclusiveMinimum": 2}}]}},
        "/a#two": {"put": {"parameters": [{"name": "y", "in": "query", "required": true, "schema": {"type": "integer"}}]}},
        "/b?kind=c": {"get": {"parameters": [{"name": "kind", "in": "query", "required": true, "schema": {"enum": ["c"]}}]}}
    }}"#;
    let mock = Mock::read(shapes).unwrap();
    check(&mock, &asked("PUT /a?x=3", &[], ""), &[]);
    check(&mock, &asked("PUT /a?y=3", &[], ""), &[]);
    check(
        &mock,
        &asked("PUT /a?x=2", &[], ""),
        &["query.x: 2 is less than or equal"],
    );
    check(&mock, &asked("GET /b?kind=c", &[], ""), &[]);
    check(
        &mock,
        &asked("GET /b?kind=c&kind=c", &[], ""),
        &["query.kind: it is written 2 times"],
    );
    assert!(Mock::read("{}").is_err() && Mock::read("[1]").is_err());
}

#[tokio::test]
async fn over_http_a_refusal_names_everything_and_an_answer_is_the_example() {
    let address = Mock::read(SHOP).unwrap().serve().await.unwrap();
    let get = |target: &str| {
        let url = format!("http://{address}{target}");
        async move { reqwest::get(url).await.unwrap() }
    };
    let good = get("/orders/7?api_key=k").await;
    assert_eq!(good.status(), 200);
    assert_eq!(good.json::<Value>().await.unwrap(), json!({"id": 7}));
    let bad = get("/orders/x?ids=y").await;
    assert_eq!(bad.status(), 400);
    let said = bad.json::<Value>().await.unwrap();
    assert_eq!(said["operation"], "GET /orders/{id}");
    assert_eq!(
        said["violations"].as_array().map(Vec::len),
        Some(3),
        "{said}"
    );
}
