import { afterEach, describe, expect, it } from "vitest";
import { enabledToolkits } from "../../src/toolkits/enabled-toolkits.ts";
import { defineToolkit } from "../../src/toolkits/toolkit.ts";
import { wireText } from "@millrace/testing/model-server";
import { startWorkflow, type TestWorkflow } from "../support/workflow.ts";

/** A toolkit without tools, whose runs have a profile. */
const letters = defineToolkit({
  name: "letters",
  title: { en: "Letters", zh: "书信" },
  description: { en: "Writes letters.", zh: "写信。" },
  enabled: "default",
  identity: { profile: "agentic" },
});

let app: TestWorkflow;
afterEach(() => app.close());

const offered = (): string[] => app.model.requests[0]?.toolNames ?? [];
const system = (): string => wireText(app.model.requests[0]?.messages[0] ?? { role: "none" });
const say = { script: [{ text: "Done." }] };

describe("a run", () => {
  it("that names no toolkit is offered one tool for each job", async () => {
    app = await startWorkflow(say);
    await app.send("hello", { mode: "free_work" });
    const files =
      "read_file write_file edit_file list_files search_files search_content move_file delete_file create_folder";
    expect(offered().toSorted()).toEqual([...files.split(" "), "write_todos", "ask_followup_question"].toSorted());
  });

  it("that names one is offered its tools and those of every run, with its identity", async () => {
    app = await startWorkflow(say);
    app.services.toolkits = [letters, ...enabledToolkits()];
    await app.send("hello", { mode: "free_work", toolkits: ["letters"] });
    expect(offered()).toEqual(expect.arrayContaining(["write_todos", "ask_followup_question"]));
    expect(offered()).not.toContain("read_file");
    expect(system()).toContain("You are an experienced software engineer.");
  });

  it("keeps the profile that it chooses besides", async () => {
    app = await startWorkflow({ script: [{ text: "Done." }, { text: "Done." }] });
    app.services.toolkits = [letters, ...enabledToolkits()];
    await app.send("hello", { mode: "free_work", profile: "general" });
    await app.send("hello", { mode: "free_work", toolkits: ["letters"], profile: "general" });
    const [first, second] = app.model.requests.map(({ messages }) => wireText(messages[0] ?? { role: "none" }));
    expect(second?.split("\n---\n")[0]).toBe(first?.split("\n---\n")[0]);
  });

  it("cannot name a tool of a toolkit that it has left out", async () => {
    app = await startWorkflow();
    app.services.toolkits = [letters, ...enabledToolkits()];
    await expect(app.send("hello", { mode: "free_work", toolkits: ["letters"], tools: ["read_file"] })).rejects.toThrow(
      'no tool named "read_file"',
    );
    expect(app.model.requests).toEqual([]);
  });

  it("is refused when it names a toolkit that the server does not have", async () => {
    app = await startWorkflow();
    app.services.toolkits = enabledToolkits(["files"]);
    await expect(app.send("hello", { mode: "free_work", toolkits: ["letters"] })).rejects.toThrow(
      /no toolkit letters; it has files, .*conversation/u,
    );
  });

  it("of a server without a toolkit has none of its tools", async () => {
    app = await startWorkflow(say);
    app.services.toolkits = enabledToolkits(["files"]);
    await app.send("hello", { mode: "free_work" });
    const others = enabledToolkits().filter(({ name, enabled }) => name !== "files" && enabled !== "always");
    const tools = others.flatMap((toolkit) => toolkit.tools.map(({ name }) => name));
    expect(offered().filter((name) => tools.includes(name))).toEqual([]);
  });
});
