import { describe, expect, it } from "vitest";
import { isWanted } from "../is-wanted.ts";
import { holdsSecret } from "../memories/secret-words.ts";
import type { GraphState } from "../../../src/state.ts";

describe("a text with a secret", () => {
  it.each([
    "My password is hunter2",
    "The wifi password for the office: swordfish",
    "PIN: 4711",
    "api_key=abc",
    "我的密码是 12345",
    "银行卡号：6222",
    "sk-abcdefghijklmnop",
    "Bearer abcdefgh123",
    "Uses ghp_abcdefghijklmnop for CI",
    "Card 4111 1111 1111 1111",
    "postgres://me:pw@host/db",
    "Token aB3dE5fG7hI9jK1lM3nO5pQ7",
    "AKIAIOSFODNN7EXAMPLE",
    "The door opens with open-sesame-9",
  ])("%s", (text) => {
    expect(holdsSecret(text, ["open-sesame-9"])).toBe(true);
  });
});

describe("a text without one", () => {
  it.each([
    "Prefers password managers over notes",
    "Lives in Berlin and works at Acme",
    "喜欢简短的回答",
    "Her secret ingredient is cinnamon",
    "Commit 3f2a9c1b7d5e4f6a8b9c0d1e2f3a4b5c6d7e8f90 broke the build",
    "Born on 1990-05-17, phone extension 20 24",
    "Keeps notes at https://example.org/wiki/Some_Long_Page_Title",
    "The order 4111 1111 1111 1112 is late",
    "Continue thread 538ebba4-1b08-4e16-8538-0864568c33fd",
  ])("%s", (text) => {
    expect(holdsSecret(text)).toBe(false);
  });
});

describe("the tool says", () => {
  const about = (request: string, session_memories: string | null = null) => ({
    request,
    entries: [],
    // Only this field is read.
    state: { session_memories } as unknown as GraphState,
  });

  it.each([
    "Remember that I like tea",
    "From now on answer briefly",
    "Call me Ada",
    "记住我的生日",
    "以后用中文回答",
    "我叫小明",
  ])("for %s", (request) => {
    expect(isWanted(about(request))).toBe(true);
  });

  it.each(["Fix the failing test", "Summarise notes.md", "把这个文件改名", "What is a mutex?"])(
    "not for %s, unless something is known of the user",
    (request) => {
      expect(isWanted(about(request))).toBe(false);
      expect(isWanted(about(request, "Known: …"))).toBe(true);
    },
  );
});
