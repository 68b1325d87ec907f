//! Replies in both forms, within and beyond the budget.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::issue_pages::IssuePages;
use super::*;

fn time(second: usize) -> String {
    format!("2026-01-31T09:{:02}:{:02}.000Z", second / 60 % 60, second % 60)
}

fn issue(description: &str, comments: &[String], history: &[String], unknown: Value) -> Issue {
    let comment =
        |(at, text): (usize, &String)| json!({"timestamp": time(at), "agent": "a", "text": text});
    let entry = |(at, action): (usize, &String)| json!({"timestamp": time(at), "agent": "b", "action": action});
    let mut issue = json!({
        "id": "3f2a9c1e-7d54-4b0a-9e6f-2c8b1d5a4e73",
        "title": "T", "description": description, "classification": "bug",
        "createdAt": time(0), "modifiedAt": time(0), "status": "created",
        "history": history.iter().enumerate().map(entry).collect::<Vec<_>>(),
        "comments": comments.iter().enumerate().map(comment).collect::<Vec<_>>(),
    });
    issue.as_object_mut().unwrap().extend(unknown.as_object().unwrap().clone());
    serde_json::from_value(issue).unwrap()
}

/// Adds the texts of a page to those of the pages before it.
fn collect(page: &Value, texts: &mut BTreeMap<String, String>) {
    let mut add = |key: String, text: &Value| {
        if let Some(text) = text.as_str() {
            texts.entry(key).or_default().push_str(text);
        }
    };
    add("description".to_owned(), &page["description"]);
    add("other".to_owned(), &page["otherFields"]);
    for (list, text) in [("comments", "text"), ("history", "action")] {
        for entry in page[list].as_array().into_iter().flatten() {
            add(format!("{list} {}", entry["timestamp"].as_str().unwrap()), &entry[text]);
        }
    }
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-zあ😀\"\\\\\n]{0,40}",
        (0usize..3_000, "[a-z \"あ😀]{1,9}").prop_map(|(count, text)| text.repeat(count)),
    ]
}

/// Returns where the next page begins; `None` after the last one.
fn next(page: &Value) -> Option<usize> {
    let (_, skip) = page["more"].as_str()?.rsplit_once("skip: ")?;
    Some(skip.parse().unwrap())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn pages_of_an_issue_have_every_character_exactly_once(
        description in text(),
        comments in prop::collection::vec(text(), 0..30),
        history in prop::collection::vec("[a-z ]{1,20}", 1..30),
        budgets in prop::collection::vec(1_000usize..6_000, 1..5),
        has_unknown in any::<bool>(),
    ) {
        let unknown = if has_unknown { json!({"labels": ["ü", "b"]}) } else { json!({}) };
        let issue = issue(&description, &comments, &history, unknown);
        let mut skip = Some(0);
        let mut texts = BTreeMap::new();
        let mut budgets = budgets.iter().cycle();
        while let Some(at) = skip {
            let max = *budgets.next().unwrap();
            let text = IssuePages::new(&issue, max, "list_issues").page(at);
            prop_assert!(budget::tokens(&text) <= max, "{}", text);
            let page: Value = serde_json::from_str(&text).unwrap();
            collect(&page, &mut texts);
            skip = next(&page);
            prop_assert!(skip.is_none_or(|skip| skip > at));
        }
        let mut expected = BTreeMap::new();
        collect(&serde_json::to_value(&issue).unwrap(), &mut expected);
        if has_unknown {
            expected.insert("other".to_owned(), r#"{"labels":["ü","b"]}"#.to_owned());
        }
        prop_assert_eq!(texts, expected);
    }
}

fn options(format: ReplyFormat, max_tokens: usize) -> ReplyOptions {
    let max_tokens = max_tokens.to_string().parse().unwrap();
    ReplyOptions { format, max_tokens, ..ReplyOptions::default() }
}

fn whole(issue: &Issue, is_claim: bool) -> Reply {
    Reply::Issue(WholeIssue { is_claim, ..WholeIssue::plain(Arc::new(issue.clone())) })
}

#[test]
fn first_page_has_head_beginning_and_newest_entries() {
    let comments: Vec<_> =
        (0..40).map(|at| format!("comment {at} {}", "x ".repeat(3_000))).collect();
    let history: Vec<_> = std::iter::once("Issue filed".to_owned())
        .chain(
            ["Issue claimed for work", "Issue returned to created status"]
                .repeat(3)
                .iter()
                .map(ToString::to_string),
        )
        .collect();
    let issue = issue(&"words ".repeat(20_000), &comments, &history, json!({}));
    let text = options(ReplyFormat::Json, 10_000).write(&whole(&issue, true)).unwrap();
    let page: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((page["title"].as_str(), page["status"].as_str()), (Some("T"), Some("created")));
    assert_eq!(page["returns"], 3);
    assert!(page["description"].as_str().unwrap().starts_with("words words"));
    let last = page["comments"].as_array().unwrap().last().unwrap();
    assert!(last["text"].as_str().unwrap().starts_with("comment 39"), "{last}");
    assert_eq!(page["history"].as_array().unwrap().len(), 7);
    assert!(page["more"].as_str().unwrap().contains("skip: "), "{}", page["more"]);
    assert!(page["left_out"].as_str().unwrap().contains("30 comments"), "{}", page["left_out"]);
}

#[test]
fn replies_within_the_budget_are_the_issue_as_stored() {
    let issue =
        issue("short", &["c".to_owned()], &["Issue filed".to_owned()], json!({"labels": ["a"]}));
    let stored = serde_json::to_string(&issue).unwrap();
    for (format, is_claim) in
        [(ReplyFormat::Json, true), (ReplyFormat::Json, false), (ReplyFormat::Compact, false)]
    {
        assert_eq!(options(format, 10_000).write(&whole(&issue, is_claim)).unwrap(), stored);
    }
}

#[test]
fn compact_claims_replace_the_history_by_a_count() {
    let history = [
        "Issue filed",
        "Issue claimed for work",
        "Issue returned to created status",
        "Issue claimed for work",
    ];
    let comments: Vec<_> = (0..12).map(|at| format!("comment {at}")).collect();
    let issue = issue("d", &comments, &history.map(str::to_owned), json!({"labels": ["a"]}));
    let text = options(ReplyFormat::Compact, 10_000).write(&whole(&issue, true)).unwrap();
    let reply: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((&reply["claim"], &reply["earlier"]), (&json!(2), &json!("returned once")));
    assert_eq!(reply.get("history"), None);
    assert_eq!(reply["comments"].as_array().unwrap().len(), 10);
    assert_eq!(reply["comments"][0]["text"], "comment 2");
    assert_eq!(reply["labels"], json!(["a"]));
    assert!(reply["more"].as_str().unwrap().starts_with("2 older comments"), "{text}");
}

fn list(titles: &[String], total: usize, skip: usize) -> Reply {
    let listed = |title: &String| {
        let issue = Issue {
            title: title.clone(),
            ..issue("", &[], &["Issue filed".to_owned()], json!({}))
        };
        ListedIssue {
            issue: Arc::new(issue),
            is_short_id_unique: true,
            is_blocked: false,
            waits_for_parts: false,
            gone: None,
            claim: None,
        }
    };
    let issues = titles.iter().map(listed).collect();
    let now = Timestamp::parse("2026-01-31T11:00:00.000Z").unwrap();
    let skip = Some(skip);
    Reply::List(List {
        total,
        is_at_least: false,
        nothing: None,
        skip,
        issues,
        cursor: None,
        fields: None,
        now,
    })
}

#[test]
fn lists_over_the_budget_drop_whole_rows_and_name_the_next_skip() {
    let titles: Vec<_> = (0..500).map(|at| format!("{at} {}", "title ".repeat(66))).collect();
    for format in [ReplyFormat::Json, ReplyFormat::Compact] {
        let text = options(format, 5_000).write(&list(&titles, 700, 100)).unwrap();
        assert!(budget::tokens(&text) <= 5_000);
        let rows = text.matches("2026-01-31T09").count() + text.matches("created -").count();
        let rows = if format == ReplyFormat::Json { rows } else { text.lines().count() - 2 };
        assert!(rows > 20, "{rows}");
        assert!(
            text.contains(&format!("{} more: call again with skip: {}", 600 - rows, 100 + rows)),
            "{text}"
        );
    }
}

#[test]
fn compact_rows_and_confirmations_are_one_line() {
    let text = options(ReplyFormat::Compact, 10_000)
        .write(&list(&["A\ttitle\u{2028}".to_owned()], 1, 0))
        .unwrap();
    assert_eq!(text, "1 issue\n3f2a9c1e bug created - 2h A title ");
    let title = "A title of many words that goes on and on ".repeat(9);
    let issue = Arc::new(Issue { title, ..issue("", &[], &["Issue filed".to_owned()], json!({})) });
    let reply = Reply::Confirmation { what: "completed".into(), issue, change: None };
    let text = options(ReplyFormat::Compact, 10_000).write(&reply).unwrap();
    assert!(text.starts_with("3f2a9c1e completed: A title of many words"), "{text}");
    assert!(budget::tokens(&text) <= 25, "{text}");
}

/// An issue with as many and as long attributes as one can have, in as many tokens as possible.
fn laden() -> Issue {
    let label = |at: usize| format!("{at:02}{}", "a:1.b_2-c/".repeat(5))[..50].to_owned();
    let link = |at: usize| json!({ "kind": "related", "to": format!("{at:08x}-7d54-4b0a-9e6f-2c8b1d5a4e73") });
    let attributes = json!({
        "priority": 0, "labels": (0..20).map(label).collect::<Vec<_>>(), "assignee": "あ".repeat(200),
        "links": (0..100).map(link).collect::<Vec<_>>(),
        "parked": { "reason": "r1.".repeat(10_000), "since": time(0), "by": "lead" },
    });
    let issue = issue("d", &[], &["Issue filed".to_owned()], attributes);
    assert_eq!(issue.attributes.set_fields().len(), 5);
    Issue { title: "あ".repeat(500), ..issue }
}

#[test]
fn issues_with_every_label_stay_within_the_smallest_budget() {
    let issue = Arc::new(laden());
    let fields = || Some("id,title,labels,assignee,links,parked".parse().unwrap());
    let rows = |count: usize, fields| {
        let row = || ListedIssue {
            issue: issue.clone(),
            is_short_id_unique: false,
            is_blocked: true,
            waits_for_parts: false,
            gone: None,
            claim: None,
        };
        let issues = (0..count).map(|_| row()).collect();
        let now = Timestamp::parse("2026-01-31T11:00:00.000Z").unwrap();
        Reply::List(List {
            total: count,
            is_at_least: false,
            nothing: None,
            skip: Some(0),
            issues,
            cursor: Some(1),
            fields,
            now,
        })
    };
    let claim = |fields| Reply::Issue(WholeIssue::claimed(issue.clone(), fields));
    for format in [ReplyFormat::Json, ReplyFormat::Compact] {
        let options = ReplyOptions { is_planning: true, ..options(format, ReplyBudget::MIN) };
        for (reply, shown) in [
            (rows(1, None), "ああ"),
            (rows(3, None), "ああ"),
            (rows(1, fields()), "00a:1"),
            (rows(3, fields()), "00a:1"),
            (claim(None), "ああ"),
            (claim(fields()), "00a:1"),
            (
                Reply::Confirmation { what: "changed".into(), issue: issue.clone(), change: None },
                "changed",
            ),
        ] {
            let text = options.write(&reply).unwrap();
            assert!(budget::tokens(&text) <= ReplyBudget::MIN, "{}: {text}", budget::tokens(&text));
            assert!(text.contains(shown), "{text}");
        }
    }
}

#[test]
fn rows_say_what_is_blocked_and_parked_now() {
    let parked = |until: &str| json!({ "parked": { "reason": "r", "since": time(0), "by": "a", "until": until } });
    for (attributes, is_blocked, marks) in [
        (json!({}), false, "T"),
        (
            json!({ "priority": 0, "labels": ["ui"], "assignee": "dev" }),
            true,
            "T [p0, ui, for dev, blocked]",
        ),
        (parked("2026-01-31T11:00:01.000Z"), false, "T [parked]"),
        (parked("2026-01-31T11:00:00.000Z"), false, "T"),
    ] {
        let Reply::List(mut rows) = list(&["T".to_owned()], 1, 0) else { unreachable!() };
        rows.issues[0].issue = Arc::new(issue("", &[], &[], attributes));
        rows.issues[0].is_blocked = is_blocked;
        let text = options(ReplyFormat::Compact, 10_000).write(&Reply::List(rows)).unwrap();
        assert_eq!(text, format!("1 issue\n3f2a9c1e bug created - 2h {marks}"));
    }
}

#[test]
fn a_row_longer_than_the_budget_does_not_stop_the_list() {
    for fields in [None, Some("id,title".parse().unwrap())] {
        let Reply::List(long) = list(&["word ".repeat(20_000), "short".to_owned()], 9, 0) else {
            unreachable!()
        };
        let long = Reply::List(List { fields, ..long });
        let text = options(ReplyFormat::Json, 1_000).write(&long).unwrap();
        assert!(budget::fits(&text, 1_000), "{text}");
        let reply: Value = serde_json::from_str(&text).unwrap();
        let [row, short] = reply["issues"].as_array().unwrap().as_slice() else { panic!("{text}") };
        assert!(row["title"].as_str().unwrap().starts_with("word word"), "{text}");
        assert!(row["left_out"].as_str().unwrap().contains("characters"), "{text}");
        assert_eq!(short["title"], "short");
        assert_eq!(reply["more"], "7 more: call again with skip: 2");
    }
}

#[test]
fn held_issues_that_do_not_fit_are_left_to_list_issues() {
    let titles: Vec<_> = (0..100).map(|at| format!("{at} {}", "title ".repeat(50))).collect();
    let Reply::List(held) = list(&titles, 100, 0) else { unreachable!() };
    let text =
        options(ReplyFormat::Json, 2_000).write(&Reply::List(List { skip: None, ..held })).unwrap();
    assert!(text.ends_with(" more: call list_issues with agent to see them\"}"), "{text}");
}

/// An issue as no tool can file it: names of 100,000 characters, and 10,000 comments and history entries.
fn monster(name: &str) -> Issue {
    let none = vec![String::new(); 10_000];
    let some = vec!["Issue claimed for work".to_owned()];
    let mut issue = issue("", &none, &[none.clone(), some].concat(), json!({}));
    issue.status = Status::InProgress;
    issue.title = name.repeat(100_000);
    for at in [0, 9_999] {
        issue.comments[at].agent = issue.title.clone();
    }
    issue.history[10_000].agent = issue.title.clone();
    issue
}

#[test]
fn hand_edited_issues_of_any_size_have_bounded_pages() {
    for (name, format) in [("x", ReplyFormat::Json), ("😀", ReplyFormat::Compact)] {
        let issue = monster(name);
        for (is_claim, max) in [(true, 1_000), (false, 10_000), (true, 100_000)] {
            let text = options(format, max).write(&whole(&issue, is_claim)).unwrap();
            assert!(budget::fits(&text, max), "{max}: {} bytes", text.len());
            let page: Value = serde_json::from_str(&text).unwrap();
            assert!(page["title"].as_str().unwrap().starts_with(name), "{max}");
            assert_eq!(page["claim"]["number"], 1);
            // Every entry is on exactly one page.
            let skip = next(&page).unwrap();
            let shown = ["comments", "history"].map(|list| page[list].as_array().unwrap().len());
            let left = format!(
                "0 characters, {} comments, {} history entries",
                10_000 - shown[0],
                10_001 - shown[1]
            );
            assert_eq!(page["left_out"], left, "{max}: {skip}");
        }
    }
}

#[test]
fn names_of_control_characters_leave_room_for_the_issue() {
    let mut issue = issue(
        &"word ".repeat(20_000),
        &["c".to_owned()],
        &["Issue claimed for work".to_owned()],
        json!({}),
    );
    issue.status = Status::InProgress;
    issue.title = "\u{1}".repeat(100_000);
    issue.history[0].agent = issue.title.clone();
    let mut skip = Some(0);
    let mut description = String::new();
    while let Some(at) = skip {
        let text = IssuePages::new(&issue, 1_000, "list_issues").page(at);
        assert!(budget::fits(&text, 1_000), "{text}");
        let page: Value = serde_json::from_str(&text).unwrap();
        description += page["description"].as_str().unwrap_or_default();
        skip = next(&page);
    }
    assert_eq!(description, issue.description);
}

#[test]
fn unknown_keys_named_as_ours_keep_the_whole_issue() {
    let issue = issue("d", &[], &["Issue filed".to_owned()], json!({"claim": 7}));
    let text = options(ReplyFormat::Compact, 10_000).write(&whole(&issue, true)).unwrap();
    assert_eq!(text, serde_json::to_string(&issue).unwrap());
}

/// What a tracker may say in other languages.
const LANGUAGES: [(&str, &str); 17] = [
    (
        "Arabic",
        "عند إغلاق النافذة يفقد المحرر ما كتبه المستخدم. خذ المهمة التالية، اقرأ التعليقات أولاً، ثم اكتب ما تحققت منه.",
    ),
    (
        "Bengali",
        "জানালা বন্ধ করলে ব্যবহারকারীর লেখা হারিয়ে যায়। পরের কাজটি নিন, আগে মন্তব্যগুলো পড়ুন, তারপর কী যাচাই করেছেন তা লিখুন।",
    ),
    (
        "Chinese",
        "关闭窗口时，编辑器会丢失用户输入的内容。领取下一个任务，先阅读评论，然后写下你验证过的内容和分支名称。",
    ),
    (
        "Georgian",
        "ფანჯრის დახურვისას რედაქტორი კარგავს მომხმარებლის ტექსტს. აიღეთ შემდეგი დავალება და ჯერ წაიკითხეთ კომენტარები.",
    ),
    (
        "German",
        "Beim Schließen des Fensters verliert der Editor den eingegebenen Text. Übernimm die nächste Aufgabe, lies zuerst die Kommentare und schreibe auf, was du geprüft hast.",
    ),
    (
        "Greek",
        "Όταν κλείνει το παράθυρο, ο επεξεργαστής χάνει το κείμενο του χρήστη. Πάρε την επόμενη εργασία και διάβασε πρώτα τα σχόλια.",
    ),
    (
        "Hebrew",
        "כשסוגרים את החלון העורך מאבד את מה שהמשתמש כתב. קח את המשימה הבאה, קרא קודם את ההערות ורשום מה בדקת.",
    ),
    (
        "Hindi",
        "खिड़की बंद करने पर उपयोगकर्ता का लिखा हुआ खो जाता है। अगला काम लें, पहले टिप्पणियाँ पढ़ें, फिर लिखें कि आपने क्या जाँचा।",
    ),
    (
        "Japanese",
        "課題を受け取ったら、まずコメントを読み、何が試されたかを確認してください。終わらない場合は、次の人が知るべきことを添えて戻します。",
    ),
    (
        "Korean",
        "창을 닫으면 편집기가 사용자가 입력한 내용을 잃어버립니다. 다음 작업을 가져와 먼저 댓글을 읽고 확인한 내용을 적으세요.",
    ),
    (
        "Polish",
        "Po zamknięciu okna edytor traci tekst użytkownika. Weź następne zadanie, najpierw przeczytaj komentarze, a potem napisz, co sprawdziłeś.",
    ),
    (
        "Russian",
        "При закрытии окна редактор теряет введённый текст. Возьмите следующую задачу, сначала прочитайте комментарии, затем напишите, что вы проверили.",
    ),
    (
        "Swahili",
        "Ukifunga dirisha, kihariri hupoteza maandishi ya mtumiaji. Chukua kazi inayofuata, soma maoni kwanza, kisha andika ulichothibitisha.",
    ),
    (
        "Tamil",
        "சாளரத்தை மூடும்போது பயனர் எழுதியது இழக்கப்படுகிறது. அடுத்த பணியை எடுத்து, முதலில் கருத்துகளைப் படியுங்கள்.",
    ),
    (
        "Thai",
        "เมื่อปิดหน้าต่าง โปรแกรมแก้ไขจะสูญเสียข้อความของผู้ใช้ รับงานถัดไป อ่านความคิดเห็นก่อน แล้วเขียนสิ่งที่คุณตรวจสอบ",
    ),
    (
        "Turkish",
        "Pencere kapatıldığında düzenleyici kullanıcının yazdıklarını kaybediyor. Sıradaki işi al, önce yorumları oku, sonra neyi doğruladığını yaz.",
    ),
    (
        "Vietnamese",
        "Khi đóng cửa sổ, trình soạn thảo làm mất nội dung người dùng đã nhập. Nhận việc tiếp theo, đọc bình luận trước rồi ghi lại những gì bạn đã kiểm tra.",
    ),
];

/// Returns texts of many kinds with their names.
fn corpus() -> Vec<(&'static str, String)> {
    let mut random = fastrand::Rng::with_seed(1);
    let mut from = |letters: &str, count: usize| -> String {
        let letters: Vec<char> = letters.chars().collect();
        (0..count).map(|_| letters[random.usize(..letters.len())]).collect()
    };
    let hex = "0123456789abcdef";
    let upper = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    let base64 = format!("{upper}{}0123456789+/", upper.to_lowercase());
    let log: String = (0..200)
        .map(|line| {
            let id = from(hex, 8);
            let address = from("0123456789", 5);
            format!(
                "2026-10-04T07:{}:{}Z INFO GET /issues/{id} 200 from 127.0.0.1:{address}\n",
                10 + line % 50,
                10 + line % 49
            )
        })
        .collect();
    let diff = include_str!("trim.rs").lines().enumerate();
    let diff: String =
        diff.map(|(at, line)| format!("{}{line}\n", ["+", "-", " "][at % 3])).collect();
    let mut corpus = vec![
        ("English", include_str!("../../../../docs/mcp.md").to_owned()),
        ("instructions", include_str!("../../../../agents/team-lead.md").to_owned()),
        ("Rust", include_str!("issue_pages.rs").to_owned()),
        ("JavaScript", include_str!("../../../ait-web/src/assets/script/morph.js").to_owned()),
        ("CSS", include_str!("../../../ait-web/src/assets/style/base.css").to_owned()),
        ("JSON", include_str!("../../../../issues.json.example").to_owned()),
        ("a log", log),
        ("a diff", diff),
        ("hex digits", from(hex, 4_000)),
        ("base64", from(&base64, 4_000)),
        ("base64 with line breaks", (0..50).map(|_| from(&base64, 76) + "\n").collect()),
        ("small letters", from(&upper.to_lowercase(), 4_000)),
        ("capitals", from(upper, 4_000)),
        ("digits", from("0123456789", 4_000)),
        ("marks", from("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", 4_000)),
        ("a table", "┌──────┬──────┐\n│ name │ size │\n└──────┴──────┘\n".repeat(50)),
        ("emoji", from("😀😂🎉✅❌🚀🔥👍💡🐛📝🧪🦀🍎", 2_000)),
        ("emoji of several parts", "👩‍💻👨‍👩‍👧‍👦🏳️‍🌈".repeat(100)),
        ("symbols", from("←↑→↓↔⇒∀∂∃∅∇∈∉∑−∗√∝∞∧∨∩∪∫≈≠≤≥⊂⊃⊕⌘⌥⏎■□▲▼◆○●★☆♠♥✓✗", 2_000)),
        ("rare symbols", from("⍺⍵⎈⏃⏄␀␁◰◱⟦⟧⦃⦄⨀⨁𝔄𝔅𝕏𝟘", 2_000)),
        ("line breaks", "\n".repeat(2_000)),
    ];
    corpus.extend(LANGUAGES.map(|(name, text)| (name, text.to_owned())));
    corpus
}

#[test]
fn estimate_is_never_below_the_tokenizer_and_at_most_a_fifth_above() {
    let tokenizer = tiktoken_rs::o200k_base_singleton();
    for (kind, text) in corpus() {
        let measured = tokenizer.encode_ordinary(&text).len();
        let estimate = budget::tokens(&text);
        let ratio = estimate as f64 / measured as f64;
        assert!((0.98..=1.2).contains(&ratio), "{kind}: {estimate} estimated, {measured} measured");
        assert!(
            budget::fits(&text, estimate) && (estimate < 2 || !budget::fits(&text, estimate / 2))
        );
    }
}

#[test]
fn replies_use_their_budget_and_keep_it_for_every_kind_of_text() {
    let tokenizer = tiktoken_rs::o200k_base_singleton();
    for (kind, text) in corpus() {
        let long = text.repeat(15_000 / text.len() + 1);
        let issue = issue(&long, &[], &["Issue filed".to_owned()], json!({}));
        let page = IssuePages::new(&issue, 1_000, "list_issues").page(0);
        let measured = tokenizer.encode_ordinary(&page).len();
        assert!((800..=1_050).contains(&measured), "{kind}: {measured}");
    }
}

/// The vocabulary is made from that of the crate that the tests count with.
#[test]
fn vocabulary_is_the_beginning_of_that_of_the_tokenizer() {
    let tokenizer = tiktoken_rs::o200k_base_singleton();
    let entries = (0..120_000).flat_map(|rank| {
        let entry = tokenizer.decode_bytes(&[rank]).unwrap();
        [vec![u8::try_from(entry.len()).unwrap()], entry].concat()
    });
    assert!(entries.eq(budget::entries()));
}
