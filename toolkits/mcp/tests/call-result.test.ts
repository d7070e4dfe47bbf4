import { describe, expect, it } from "vitest";
import { readCallResult } from "../mcp-tool.ts";

describe("the answer to a call of an MCP tool", () => {
  it.each([
    [
      "texts",
      {
        content: [
          { type: "text", text: "a" },
          { type: "text", text: "b" },
        ],
      },
      "a\nb",
    ],
    ["nothing", { content: [] }, "(no content)"],
    ["data alone", { content: [], structuredContent: { a: 1 } }, '{"a":1}'],
    [
      "text and the same as data",
      { content: [{ type: "text", text: "a is 1" }], structuredContent: { a: 1 } },
      "a is 1",
    ],
    [
      "sound",
      { content: [{ type: "audio", data: "AAAA", mimeType: "audio/wav" }] },
      "[audio audio/wav, 3 bytes, not shown]",
    ],
    ["a file", { content: [{ type: "resource", resource: { uri: "a:b", text: "words" } }] }, "[resource a:b]\nwords"],
    [
      "a file of bytes",
      { content: [{ type: "resource", resource: { uri: "a:b", blob: "AAAA", mimeType: "x/y" } }] },
      "[resource a:b, x/y, 3 bytes, not shown]",
    ],
    ["a link", { content: [{ type: "resource_link", uri: "a:b", name: "notes" }] }, "[link notes: a:b]"],
  ])("that holds %s is read", (_, answer, content) => {
    expect(readCallResult("s", "t", answer)).toMatchObject({ success: true, content });
  });

  it("that says it failed is a failure in the server's words", () => {
    const answer = { content: [{ type: "text", text: "no such city" }], isError: true };
    expect(readCallResult("s", "t", answer)).toMatchObject({
      success: false,
      errorType: "execution_failed",
      message: "t of the MCP server s failed: no such city",
    });
  });

  it("that holds more parts than the limit is refused before they are read", () => {
    const many = { content: Array.from({ length: 300_000 }, () => ({ type: "video" })) };
    const result = readCallResult("s", "t", many);
    expect(result.message).toContain("<=10000 items");
    expect(result.message).not.toContain("discriminator");
  });

  it.each([null, "text", { content: "text" }, { content: [{ type: "video" }] }, { content: [{ type: "text" }] }])(
    "that is %j is said to be no result",
    (answer) => {
      const result = readCallResult("s", "t", answer);
      expect(result).toMatchObject({ success: false, errorType: "execution_failed" });
      expect(result.message).toContain("is no result");
    },
  );
});
