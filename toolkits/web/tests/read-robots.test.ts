import { describe, expect, it } from "vitest";
import { readRobots } from "../pages/robots-files.ts";

const allows = (text: string, path: string): boolean => readRobots(text).allows(new URL(path, "https://example.com"));
const forAll = (...lines: string[]): string => ["User-agent: *", ...lines].join("\n");

describe("the rules of a host (RFC 9309)", () => {
  it.each<[string, string, string, boolean]>([
    ["nothing is said", "", "/a", true],
    ["an empty rule says nothing", forAll("Disallow:"), "/a", true],
    ["a path begins so", forAll("Disallow: /a"), "/ab/c", false],
    ["a path does not begin so", forAll("Disallow: /a"), "/b/a", true],
    ["the query counts", forAll("Disallow: /*?print="), "/a?print=1", false],
    ["capitals count in paths", forAll("Disallow: /A"), "/a", true],
    [
      "the longer rule counts",
      forAll("Allow: /example/page/", "Disallow: /example/page/no.gif"),
      "/example/page/no.gif",
      false,
    ],
    ["the longer rule counts, in whichever order", forAll("Disallow: /a", "Allow: /a/b"), "/a/b/c", true],
    ["of two that are as long the one that allows", forAll("Disallow: /a", "Allow: /a"), "/a", true],
    ["a star stands for anything", forAll("Disallow: /*.gif"), "/x/y.gif?z", false],
    ["a star stands for nothing, too", forAll("Disallow: /a*b"), "/ab", false],
    ["a dollar ends it", forAll("Disallow: /*.gif$"), "/x/y.gif?z", true],
    ["a dollar ends it, at the last of several", forAll("Disallow: /*.gif$"), "/x.gif/y.gif", false],
    ["a dollar ends it without a star", forAll("Disallow: /a$"), "/ab", true],
    ["parts do not overlap", forAll("Disallow: /ab*ba$"), "/aba", true],
    ["a star of the address is no sign", forAll("Disallow: /file-with-a-%2A.html"), "/file-with-a-*.html", false],
    [
      "an escape is what it stands for",
      forAll("Disallow: /foo/bar?baz=http://foo.bar"),
      "/foo/bar?baz=http://foo.bar",
      false,
    ],
    ["escapes need not be written alike", forAll("Disallow: /a%3cd"), "/a%3Cd", false],
    ["letters need no escape", forAll("Disallow: /%61~b"), "/a%7Eb", false],
    ["other letters are escaped", forAll("Disallow: /foo/bar/ツ"), "/foo/bar/%E3%83%84", false],
    ["robots.txt itself may be read", forAll("Disallow: /"), "/robots.txt", true],
    [
      "an own group goes before that for all",
      `${forAll("Disallow: /")}\nUser-agent: millrace\nDisallow: /b`,
      "/a",
      true,
    ],
    ["an own group names in any capitals, and a version", "User-Agent: MillRace/1.0\nDisallow: /", "/a", false],
    ["another program is meant", "User-agent: millracer\nDisallow: /", "/a", true],
    ["a group names several", "User-agent: x\nSitemap: y\nuser-agent:Millrace\n\nDisallow: /", "/a", false],
    [
      "groups of one name are one",
      "User-agent: millrace\nAllow: /b\nUser-agent: x\nDisallow: /c\nUser-agent: millrace\nDisallow: /",
      "/a",
      false,
    ],
    ["rules before any user agent apply to none", "Disallow: /\nUser-agent: *\nAllow: /", "/a", true],
    [
      "comments, marks and line ends are passed",
      "\uFEFFuser-agent : * # all\r\rDISALLOW : /a # why\r\nCrawl-delay: 9",
      "/a",
      false,
    ],
    ["a page of HTML is no rule", "<!doctype html>\n<p>User-agent: everybody</p>\nDisallow", "/a", true],
  ])("are read as they are meant: %s", (_, text, path, expected) => {
    expect(allows(text, path)).toBe(expected);
  });

  it("are read in time, whatever a host writes", () => {
    const path = `/${"a".repeat(2000)}`;
    const cruel = forAll(
      `Disallow: /${"*a".repeat(250_000)}b`,
      ...Array.from({ length: 5000 }, () => `Disallow: /*a*a*a*a*b`),
    );
    const rules = readRobots(cruel);
    expect(rules.allows(new URL(path, "https://example.com"))).toBe(true);
  });

  it.each<[string, string]>([
    ["one name", "User-agent: *\n"],
    ["this program's name", "User-agent: millrace\n"],
  ])("count once in their group, however often a file gives %s to it", (_, name) => {
    const cruel = `${name.repeat(5000)}${"Allow: /\n".repeat(5000)}Disallow: /a\n`;
    expect(allows(cruel, "/a")).toBe(false);
    expect(allows(cruel, "/b")).toBe(true);
  });

  it("are read in time where a group has very many names", () => {
    const names = Array.from({ length: 10_000 }, (_, place) => `User-agent: n${place}\n`).join("");
    const cruel = `${names}User-agent: *\n${"Allow: /\n".repeat(10_000)}Disallow: /a\n`;
    expect(allows(cruel, "/a")).toBe(false);
    expect(allows(cruel, "/b")).toBe(true);
  });
});
