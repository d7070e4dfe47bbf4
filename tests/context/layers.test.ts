import { describe, expect, it } from "vitest";
import { documentLayer, fenced, referencesLayer, smartPreview } from "../../src/context/layers.ts";
import { builtInPrompts } from "../../src/prompts/prompts.ts";

describe("the editor's layer", () => {
  it("says only what is there", () => {
    expect(documentLayer(undefined, builtInPrompts)).toBeNull();
    expect(documentLayer({}, builtInPrompts)).toBeNull();
    expect(documentLayer({ unsaved_changes: false, selected_text: "" }, builtInPrompts)).toBeNull();
    expect(documentLayer({ path: "notes/a.md" }, builtInPrompts)).toEqual({
      name: "document",
      text: "## Editor\n\nCurrent document: notes/a.md",
    });
  });

  it("shows everything in a fixed order: document, its beginning, selection, workspace, state, unsaved changes (CTX-06)", () => {
    const text = documentLayer(
      {
        path: "a.md",
        preview: `${"p".repeat(1000)}${"q".repeat(500)}`,
        selected_text: "the harbour",
        workspace_path: "/home/ada/notes",
        editor: { type: "markdown" },
        unsaved_changes: true,
      },
      builtInPrompts,
    )?.text;
    expect(text).toBe(
      [
        "## Editor\n",
        "Current document: a.md",
        `Its beginning: \n\`\`\`\n${"p".repeat(1000)}\n[… 500 characters left out …]\n\`\`\``,
        "Selected text: \n```\nthe harbour\n```",
        "Workspace: /home/ada/notes",
        "Editor: markdown",
        "Changes that are not saved yet: yes; the file on disk is older than what the user sees",
      ].join("\n"),
    );
  });

  it.each([
    [{ editable: true, type: "markdown", size: 1200, saved: false }, "Editor: Normal, markdown, editable, not saved"],
    [{ size: 3 * 1024 * 1024 }, "Editor: Large file (3.0 MB)"],
    [{ editable: false }, "Editor: read-only"],
  ])("contains the editor's state %o", (editor, expected) => {
    expect(documentLayer({ editor }, builtInPrompts)?.text).toContain(expected);
  });

  it("shows the beginning of a long document, at a paragraph where one ends near", () => {
    const text = `${"a".repeat(800)}\n\n${"b".repeat(800)}`;
    expect(smartPreview(text)).toBe(`${"a".repeat(800)}\n[… 802 characters left out …]`);
    expect(smartPreview("short")).toBe("short");
    expect(smartPreview("y".repeat(1000))).toBe("y".repeat(1000));
    expect(smartPreview("y".repeat(1001))).toBe(`${"y".repeat(1000)}\n[… 1 characters left out …]`);
    expect(smartPreview("x".repeat(999) + "😀😀").isWellFormed()).toBe(true);
  });
});

describe("the layer of references", () => {
  it("is numbered, whole, and says that nothing has to be read again", () => {
    const content = "line\n".repeat(20_000);
    const layer = referencesLayer(
      [
        { type: "text", source: "chapter 1", content: "one" },
        { type: "file", source: "b.md", content },
      ],
      builtInPrompts,
    );
    expect(layer?.text).toContain("no need to read it again");
    expect(layer?.text).toContain("Reference 1: text (source: chapter 1)\n```\none\n```");
    expect(layer?.text).toContain(`Reference 2: file (source: b.md)\n\`\`\`\n${content}\`\`\``);
    expect(referencesLayer([], builtInPrompts)).toBeNull();
  });

  it("cannot be ended by what it holds", () => {
    expect(fenced("md", "a\n```\nb")).toBe("````md\na\n```\nb\n````");
  });
});
