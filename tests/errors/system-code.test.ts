import { statSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { hasCode, systemCode } from "@millrace/engine/errors/errors";

function thrownBy(work: () => unknown): unknown {
  try {
    return work();
  } catch (error) {
    return error;
  }
}

describe("the code of an error", () => {
  it.each([
    ["the operating system's", thrownBy(() => statSync("/no/such/place")), "ENOENT"],
    ["node's", thrownBy(() => new URL("nowhere")), "ERR_INVALID_URL"],
    ["none", new Error("plain"), ""],
    ["a number", Object.assign(new Error("old"), { code: 5 }), ""],
    ["of what is no error", { code: "ENOENT" }, ""],
    ["of nothing", undefined, ""],
  ])("is read: %s", (_, error, code) => {
    expect(systemCode(error)).toBe(code);
    expect(hasCode(error, "EACCES", "ENOENT")).toBe(code === "ENOENT");
  });
});
