//! What queries mean, and what mistakes are answered with.

use proptest::prelude::*;

use super::*;
use ait_domain::{Classification, Priority, Status, StatusSet};

fn now() -> Timestamp {
    Timestamp::parse("2026-11-21T12:00:00Z").unwrap()
}

fn parse(text: &str) -> Result<ParsedQuery, QueryError> {
    let saved = [
        ("triage", "is:open (returns:>=2 OR claims:>3)"),
        ("deep", "@deeper"),
        ("deeper", "@deep"),
    ];
    let saved = saved.map(|(name, query)| (name.to_owned(), query.to_owned())).into();
    ParsedQuery::parse(text, &saved, now())
}

fn condition(text: &str) -> Condition {
    parse(text).unwrap_or_else(|error| panic!("{text}: {error}")).condition()
}

fn text(text: &str) -> Condition {
    Condition::Text(text.to_owned())
}

#[test]
fn terms_are_joined_negated_and_grouped() {
    let a = || text("a");
    let b = || text("b");
    let c = || text("c");
    let not = |condition| Condition::Not(Box::new(condition));
    for (query, expected) in [
        ("", Condition::default()),
        ("  A ", a()),
        ("a b", Condition::all([a(), b()])),
        ("a AND b & c", Condition::all([a(), b(), c()])),
        ("-a", not(a())),
        ("NOT a b", Condition::all([not(a()), b()])),
        ("a OR b", Condition::Any(vec![a(), b()])),
        ("a | b c", Condition::Any(vec![a(), Condition::all([b(), c()])])),
        ("(a OR b) c", Condition::all([Condition::Any(vec![a(), b()]), c()])),
        ("-(a OR b)", not(Condition::Any(vec![a(), b()]))),
        ("((a))", a()),
        ("()", Condition::default()),
        ("\"a  (B\"", text("a  (b")),
        ("\"\" a", a()),
        ("a - b", Condition::all([a(), b()])),
        ("--flag", text("--flag")),
        ("x-y", text("x-y")),
        ("f(x)", text("f(x)")),
        ("http://x.example", text("http://x.example")),
        ("login:", text("login:")),
        ("user@x.example", text("user@x.example")),
    ] {
        assert_eq!(condition(query), expected, "{query}");
    }
}

#[test]
fn keys_have_other_names_and_values_may_be_quoted() {
    let bugs = Condition::Classification(Classification::Bug);
    for same in ["kind:bug", "KIND:bug", "type:bug", "classification:bug", "kind:\"bug\""] {
        assert_eq!(condition(same), bugs, "{same}");
    }
    let statuses = |statuses: &[Status]| Condition::Status(statuses.iter().copied().collect());
    assert_eq!(condition("status:in-progress"), statuses(&[Status::InProgress]));
    assert_eq!(condition("state:closed,created"), statuses(&[Status::Closed, Status::Created]));
    assert_eq!(condition("is:open"), Condition::Status(StatusSet::open()));
    let first: Priority = "0".parse().unwrap();
    assert_eq!(condition("priority:p0"), Condition::Priority(first..=first));
    assert_eq!(condition("priority:>9"), Condition::Any(Vec::new()));
    assert_eq!(
        condition("holder:\"Reviewer One\""),
        Condition::Holder(Some("Reviewer One".into()))
    );
}

#[test]
fn the_case_of_values_matters_in_names_of_agents_alone() {
    for (other, usual) in [
        ("STATUS:Open,Closed", "status:open,closed"),
        ("kind:BUG", "kind:bug"),
        ("label:UI,None", "label:ui,none"),
        ("is:Ready", "is:ready"),
    ] {
        assert_eq!(condition(other), condition(usual));
    }
    assert_ne!(condition("holder:Dev"), condition("holder:dev"));
}

#[test]
fn the_order_and_the_statuses_go_to_the_query() {
    let parsed = parse("status:open kind:bug sort:title-desc a").unwrap();
    assert!(parsed.names_status());
    assert_eq!(parsed.order(), Some((Order::Title, true)));
    let query = parsed.narrow(Query::default());
    assert_eq!((query.order, query.reversed), (Order::Title, true));
    assert_eq!(
        (query.statuses, query.classification),
        (StatusSet::open(), Some(Classification::Bug))
    );
    assert_eq!(query.condition, text("a"));
    // A kind that contradicts that of the query stays a condition, which nothing meets.
    let feature = Some(Classification::Feature);
    let query = parsed.narrow(Query { classification: feature, ..Query::default() });
    assert_eq!(query.classification, feature);
    assert!(query.condition.conjuncts().contains(&Condition::Classification(Classification::Bug)));
    assert_eq!(parse("sort:changed").unwrap().order(), Some((Order::LatestActivity, false)));
    assert_eq!(parse("sort:filed-desc").unwrap().order(), Some((Order::Filed, true)));
    for (query, names) in [
        ("a (status:closed OR b)", true),
        ("status:closed OR b", true),
        ("@triage", true),
        ("a -status:closed", false),
    ] {
        assert_eq!(parse(query).unwrap().names_status(), names, "{query}");
    }
}

#[test]
fn saved_queries_stand_for_their_text() {
    let whole = condition("is:open (returns:>=2 OR claims:>3)");
    assert_eq!(condition("@triage"), whole);
    assert_eq!(condition("@triage a"), Condition::all([whole.clone(), text("a")]));
    assert_eq!(condition("-@triage"), Condition::Not(Box::new(whole)));
}

#[test]
fn long_texts_without_terms_are_searched_as_they_are() {
    let pasted =
        "thread 'main' panicked at src/main.rs:12:5: index out of bounds: the len is 3 (but the";
    let parsed = parse(pasted).unwrap();
    assert_eq!(parsed.order(), Some((Order::Relevance, false)));
    let Condition::SomeTexts { texts, at_least } = parsed.condition() else { panic!("{parsed:?}") };
    // The longest ones, but none that is a part of most words.
    let longest = [
        "src/main.rs:12:5",
        "panicked",
        "thread",
        "bounds",
        "index",
        "main",
        "out",
        "the",
        "len",
        "but",
    ];
    assert_eq!((&*texts, at_least), (&longest.map(str::to_owned)[..], 3));
    let many: String = (0..80).map(|n| format!("word{n} ")).collect();
    let Condition::SomeTexts { texts, at_least } = condition(&many) else { panic!("no text") };
    assert_eq!((texts.len(), at_least), (12, 3));
    // With what looks like terms, and is none.
    for pasted in [
        "GET /x failed with status:502 while reading the (unclosed [body of \"quote and so on",
        "at Object.<anonymous> (x.js:10:3)\n  at Module._compile (node:1:2)\n  label: x and many more",
        "warning: there is no key labl:ui in the table of the keys that are known",
    ] {
        assert!(matches!(condition(pasted), Condition::SomeTexts { .. }), "{pasted}");
    }
    // A change needs all words, and a mistake in its query is one.
    let exact = |text| ParsedQuery::exact(text, &SavedQueries::new(), now());
    let words = "please park what waits for the new login of the app";
    assert!(matches!(condition(words), Condition::SomeTexts { .. }));
    assert_eq!(exact(words).unwrap().condition().conjuncts().len(), 11);
    assert!(exact("park all that waits for the login of the app labl:ui").is_err());
    // Terms and phrases mean what they say, whatever the length.
    for typed in ["a b c d e f g h i kind:bug", "\"a b c d e f g h i j\""] {
        assert!(!matches!(condition(typed), Condition::SomeTexts { .. }), "{typed}");
    }
}

#[test]
fn mistakes_name_the_place_and_what_was_expected() {
    let long = "x".repeat(MAX_CHARS + 1);
    let many = "a ".repeat(7) + &"kind:bug ".repeat(44);
    let deep = "(".repeat(12) + "a" + &")".repeat(12);
    for (query, position, expected) in [
        ("a labl:ui", 3, "there is no key labl: did you mean label:?"),
        ("ä statuss:open", 3, "did you mean status:?"),
        ("status:done", 1, "status:done is invalid: use open, created"),
        ("status:closed,opn", 1, "or several with commas; did you mean open?"),
        ("a sort:prioritty", 3, "with -asc or -desc behind it; did you mean priority?"),
        ("kind:", 1, "use a kind of work such as bug, improvement or feature"),
        ("label:ü", 1, "use a label"),
        ("priority:high", 1, "use 0 (first) to 4 (last)"),
        ("a holder:", 3, "use the name of an agent, or none"),
        ("parent:3f2a", 1, "at least its first 8 digits, or none"),
        ("returns:often", 1, "use a number of times"),
        ("created:7d", 1, "use >-7d"),
        ("changed:>soon", 1, "use >-7d"),
        ("changed:>2d", 1, "use >-7d"),
        ("idle:3d", 1, "use >3d"),
        ("is:done", 1, "use open, ready, blocked"),
        ("sort:size", 1, "use changed, filed, priority or title"),
        ("a \"b", 3, "this quote is not closed"),
        ("label:\"b", 7, "this quote is not closed"),
        ("a (b", 3, "this parenthesis is not closed"),
        ("a )", 3, "there is no parenthesis to close"),
        ("-(a) NOT", 6, "nothing does"),
        ("-sort:title", 1, "an order cannot be excluded"),
        ("@triag", 1, "there is no saved query @triag: did you mean @triage?"),
        ("@other", 1, "there are @deep, @deeper, @triage"),
        (
            "a @deep",
            3,
            "in the saved query @deep: @deep -> @deeper -> @deep: a saved query cannot contain itself",
        ),
        ("stat:open", 1, "did you mean status:?"),
        ("a b c d e f g h status:opne kind:bug -label:ui", 17, "status:opne is invalid"),
        (&deep, 12, "nested at most 10 deep"),
        (&many, 402, "at most 50 terms"),
        (&long, MAX_CHARS + 1, "at most 1000 are allowed"),
    ] {
        let error = parse(query).expect_err(query);
        assert!(error.message.contains(expected), "{query}: {error}");
        assert_eq!(error.position, position, "{query}: {error}");
    }
    let error = ParsedQuery::parse("@x", &SavedQueries::new(), now()).unwrap_err();
    assert!(error.message.contains("none is saved"), "{error}");
}

/// Pieces of queries, so that many of them are nearly right.
fn piece() -> impl Strategy<Value = String> {
    let pieces = [
        "(",
        ")",
        "-",
        "\"",
        " ",
        "OR ",
        "NOT ",
        "@triage",
        "@",
        "status:open",
        "kind:",
        "label:ui,",
        ":",
        "returns:>=",
        "2",
        "..",
        "created:>-7d",
        "idle:",
        "sort:title",
        "#3f2a9c1e",
        "ä",
        "\u{202e}",
        "\n",
        "is:",
    ];
    prop_oneof![prop::sample::select(pieces.map(str::to_owned).to_vec()), any::<String>(),]
}

proptest! {
    #[test]
    fn any_text_is_parsed_or_refused_at_a_place_within(pieces in prop::collection::vec(piece(), 0..40)) {
        let query = pieces.concat();
        let chars = query.chars().count();
        match parse(&query) {
            Ok(parsed) => {
                prop_assert!(chars <= MAX_CHARS);
                // Terms are quoted from the query.
                for term in parsed.terms() {
                    prop_assert!(query.contains(&term.text), "{:?}", term);
                }
                prop_assert!(parsed.condition().texts().len() <= MAX_TERMS);
            }
            Err(error) => prop_assert!((1..=chars + 1).contains(&error.position), "{error}"),
        }
    }
}
