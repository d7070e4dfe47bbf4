import { describe, expect, it } from "vitest";
import { createLogger } from "@millrace/engine/logger";
import { toModelError } from "@millrace/models/model-error";

const key = "plain-looking-secret-1234";
const target = {
  name: "openai:gpt",
  address: "http://127.0.0.1:1",
  unreachableHint: "",
  unknownModelHint: "",
  withoutKey: (text: string) => text.replaceAll(key, "[redacted]"),
};

/** The line that the server's log gets of an error. */
function logged(error: Error): string {
  let line = "";
  createLogger("info", { write: (text: string) => void (line += text) }).error({ err: error }, "failed");
  return line;
}

describe("an error of a model client", () => {
  it.each([
    ["itself", Object.assign(new Error(`Wrong key: ${key}`), { status: 401 })],
    ["its cause", Object.assign(new Error("refused", { cause: new Error(`Bearer ${key}`) }), { status: 401 })],
  ])("is logged without the key that %s repeats (SEC-01)", (_, thrown) => {
    const error = toModelError(thrown, target);
    expect(error).toMatchObject({ code: "auth" });
    expect(error.cause).toBeUndefined();
    expect(logged(error)).toContain("auth");
    expect(logged(error)).not.toContain(key);
  });

  it("is the cause of the error where it repeats no key", () => {
    const thrown = Object.assign(new Error("no such field"), { status: 400 });
    expect(toModelError(thrown, target).cause).toBe(thrown);
    expect(logged(toModelError(thrown, target))).toContain("no such field");
  });
});
