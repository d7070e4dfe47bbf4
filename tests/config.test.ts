import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { loadConfig } from "../src/config.ts";

const keysIn = (text: string) => loadConfig({ MILLRACE_API_KEYS: text }).apiKeys;
const digestOf = (key: string): string => createHash("sha256").update(key).digest("hex").slice(0, 12);

describe("MILLRACE_API_KEYS", () => {
  it.each([
    ["", []],
    [" , ", []],
    ["secret", [{ owner: digestOf("secret"), key: "secret" }]],
    [
      "ada:one, bob : two ",
      [
        { owner: "ada", key: "one" },
        { owner: "bob", key: "two" },
      ],
    ],
    [
      "ada:one,ada:two",
      [
        { owner: "ada", key: "one" },
        { owner: "ada", key: "two" },
      ],
    ],
    ["ada:with:colons", [{ owner: "ada", key: "with:colons" }]],
    [
      "ada:one,ada:one",
      [
        { owner: "ada", key: "one" },
        { owner: "ada", key: "one" },
      ],
    ],
  ])("%j is read", (text, expected) => {
    expect(keysIn(text)).toEqual(expected);
  });

  it("keeps the owner of a plain key from one start to the next, and never shows the key in it", () => {
    const [first] = keysIn("a-long-secret-key");
    expect(keysIn("other,a-long-secret-key")[1]).toEqual(first);
    expect(first?.owner).toMatch(/^[0-9a-f]{12}$/);
  });

  it.each([
    ["a name that is none", "ok,not a name:secret-part", "entry 2"],
    ["no name", ":secret-part", "entry 1"],
    ["no key", "secret-part:", "entry 1"],
    ["one key of two owners", "ada:secret-part,bob:secret-part", "the same key has two owners"],
  ])("with %s is refused by its place, and not repeated", (_, text, named) => {
    let message = "";
    try {
      keysIn(text);
    } catch (error) {
      message = String(error);
    }
    expect(message).toContain("MILLRACE_API_KEYS");
    expect(message).toContain(named);
    expect(message).not.toContain("secret-part");
  });

  it("is needed on an address that others can reach", () => {
    expect(() => loadConfig({ HOST: "0.0.0.0" })).toThrow("MILLRACE_API_KEYS");
    expect(loadConfig({ HOST: "0.0.0.0", MILLRACE_API_KEYS: "ada:one" }).host).toBe("0.0.0.0");
  });
});
