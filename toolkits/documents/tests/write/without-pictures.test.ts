import { describe, expect, it } from "vitest";
import { syntaxOf } from "../../write/write-document.ts";
import { withoutPictures } from "../../write/without-pictures.ts";

const own = "data:image/png;base64,iVBORw0KGgo=";

describe("a text that becomes a Word document", () => {
  it.each([
    ["a picture of the web", '<p>a<img src="http://x/y.png" alt="wheel">b</p>', "<p>a[wheel]b</p>", 1],
    ["a picture of the machine", "<img src=/etc/passwd>", "", 1],
    ["one with a sign in its words", '<img alt="a > b" src="/etc/passwd">c', "[a > b]c", 1],
    ["one that never ends", 'a<img src="/etc/passwd', "a", 1],
    ["one in capitals", "<IMG SRC='x' ALT='y'>", "[y]", 1],
    ["a frame with what is in it", "a<iframe src='x'>b</iframe>c", "ac", 0],
    ["a script", "a<script>b<img src=x></script >c", "ac", 0],
    ["a script that never ends", "a<script>b", "a", 0],
    ["a drawing", "a<svg><image href='x'/></svg>b", "ab", 1],
    ["a film, but not the words for who cannot see it", "<video src='x'>words</video>", "words", 0],
    ["a style sheet", '<link rel="stylesheet" href="http://x/y.css">a', "a", 0],
  ])("loses %s", (_, html, content, pictures) => {
    expect(withoutPictures(html, "html")).toEqual({ content, pictures });
  });

  it.each([
    ["html", `<p>a < b <img src="${own}"> c</p>`],
    ["html", "<p title='img'>x</p>"],
    ["markdown", "[a](b) and `![code](x)` and ``a``!"],
    ["markdown", "```\n![code](x)\n<script>a</script>\n```\n<b>bold</b>"],
  ] as const)("keeps the rest as it is, in %s: %s", (syntax, text) => {
    expect(withoutPictures(text, syntax)).toEqual({ content: text, pictures: 0 });
  });

  it("loses pictures of Markdown", () => {
    const text = '![the race](http://x/y.png "title") and ![](</etc/passwd>)\n\n```\n![code](x)\n```\n![last](z)';
    expect(withoutPictures(text, "markdown")).toEqual({
      content: "[the race] and \n\n```\n![code](x)\n```\n[last]",
      pictures: 3,
    });
  });

  // What took more than its length would not end in the time of a test.
  it.each([
    "<script>",
    "<img ",
    "<img alt='",
    "<svg",
    "<!--",
    "![",
    "![a](",
    "![a](b)",
    "`![a](b)",
    "`",
    "<!-- -->",
    "<!-- ",
    '<p a="',
  ])("is looked through in a time that grows with its length, also with %s again and again", (piece) => {
    const text = piece.repeat(200_000);
    expect(withoutPictures(text, "html").content.length).toBeLessThanOrEqual(text.length);
    expect(withoutPictures(text, "markdown").content.length).toBeLessThanOrEqual(text.length);
    expect(syntaxOf(`${text}x`)).toMatch(/^(?:html|markdown)$/u);
  });
});
