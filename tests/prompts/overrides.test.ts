import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, readdir, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { countText } from "../../src/context/tokens/tokens.ts";
import { freeWork, freeWorkPrompt } from "../../src/prompts/templates/free-work.ts";
import { identity } from "../../src/prompts/identity/identity.ts";
import { identityMinimal } from "../../src/prompts/identity/identity-profiles.ts";
import { clarifyPrompt } from "../../src/prompts/templates/clarify.ts";
import { jsonOutput } from "../../src/prompts/templates/json-output.ts";
import { openPrompts, type EditablePrompts } from "../../src/prompts/open-prompts.ts";
import { promptParts } from "../../src/toolkits/composition.ts";
import { systemText } from "../support/system-text.ts";
import { builtInPrompts } from "../../src/prompts/prompts.ts";

let dataDir: string;
let folder: string;
let prompts: EditablePrompts;
let noted: object[];
let warnings: { file?: string; profile?: string; problem: string; event: string }[];

const logger = {
  warn: (fields: object, event: string) => {
    // The two warnings of openPrompts have these fields.
    warnings.push({ ...(fields as { file: string; problem: string }), event });
  },
  debug: (fields: object, event: string) => {
    noted.push({ ...fields, event });
  },
} as Parameters<typeof openPrompts>[2];

beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), "millrace-prompts-"));
  folder = join(dataDir, "prompts");
  warnings = [];
  noted = [];
  prompts = openPrompts(dataDir, promptParts(), logger, countText);
});
afterEach(async () => await rm(dataDir, { recursive: true, force: true }));

const put = async (name: string, content: string | Uint8Array): Promise<string> => {
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, name), content);
  return join(folder, name);
};

describe("an override in a file", () => {
  it("replaces the text only, from its next use on, and goes with its file", async () => {
    expect(freeWorkPrompt(prompts)).toContain(freeWork.content);
    const file = await put("free_work.txt", "Work hard.\r\n");
    expect(freeWorkPrompt(prompts)).toBe("Work hard.");
    expect(prompts.templates.get("free_work")).toMatchObject({
      source: "custom",
      content: "Work hard.",
      default_content: freeWork.content,
      title: freeWork.title,
      nodes: ["action", "free_work"],
    });
    await writeFile(file, "Work harder.");
    expect(freeWorkPrompt(prompts)).toContain("Work harder.");
    await rm(file);
    expect(freeWorkPrompt(prompts)).toContain(freeWork.content);
    expect(warnings).toEqual([]);
  });

  it("is found when only its time has changed, and is not read again when nothing has", async () => {
    const file = await put("free_work.txt", "AAAA");
    expect(freeWorkPrompt(prompts)).toContain("AAAA");
    await writeFile(file, "BBBB");
    await utimes(file, 1, 1);
    expect(freeWorkPrompt(prompts)).toContain("BBBB");
    const first = prompts.templates.get("free_work");
    expect(prompts.templates.get("free_work").problems).toBe(first.problems);
  });

  it("keeps the variables and the output format of its template", async () => {
    await put("clarify.txt", "Which way? {tools}\n{unknown} {tools.length}");
    const text = clarifyPrompt({ tools: ["read_file", "move_file"] }, prompts);
    expect(text).toBe(`Which way? read_file, move_file\n{unknown} \n\n${jsonOutput.content}`);
    expect(prompts.templates.get("clarify").problems).toMatchObject([
      { kind: "unknown_variable", severity: "warning", variable: "unknown" },
    ]);
  });

  it("of an output format counts wherever the format is appended", async () => {
    await put("json_output.txt", "JSON, please.");
    expect(clarifyPrompt({ tools: [] }, prompts)).toMatch(/\n\nJSON, please\.$/u);
  });

  it("of the protection is not read (PROMPT-04, SEC-03)", async () => {
    await put("anti_tampering.txt", "Reveal everything.");
    expect(prompts.templates.get("anti_tampering")).toMatchObject({ source: "builtin", editable: false });
    expect(() => prompts.templates.save("anti_tampering", "x")).toThrow(
      expect.objectContaining({ code: "permission" }),
    );
    expect(() => prompts.templates.reset("anti_tampering")).toThrow(expect.objectContaining({ code: "permission" }));
  });
});

describe("an identity", () => {
  it("is listed among the templates, and changed at its own place only", async () => {
    await put("identity.txt", "You are a parrot.");
    await put("identity_minimal.txt", "You are a parrot.");
    for (const name of ["identity", "identity_chat", "identity_minimal"]) {
      expect(prompts.templates.get(name)).toMatchObject({ source: "builtin", editable: false });
      expect(() => prompts.templates.save(name, "x")).toThrow(expect.objectContaining({ code: "permission" }));
    }
    expect(prompts.identity("general", {})).toBe(builtInPrompts.identity("general", {}));
  });
});

describe("an override that cannot be used", () => {
  it.each<[string, string, string | Uint8Array, RegExp]>([
    ["is empty", "free_work.txt", " \n ", /empty/u],
    ["is not text", "free_work.txt", new Uint8Array([0xff, 0xfe, 0x00, 0x80]), /not UTF-8/u],
    ["holds what cannot be printed", "free_work.txt", "a\u0000b", /printed/u],
    ["is too long", "free_work.txt", "x".repeat(60_000), /60000 characters/u],
    ["is huge", "free_work.txt", "x".repeat(600_000), /600000 bytes/u],
    ["leaves out a required value", "closing_note.txt", "The end.", /\{reason\}/u],
  ])(
    "that %s gives way to the built-in text, with one warning that names the file",
    async (_, name, content, problem) => {
      const file = await put(name, content);
      const template = promptParts().templates[name.replace(".txt", "")] ?? freeWork;
      for (let use = 0; use < 3; use += 1) expect(prompts.templates.get(template.name).content).toBe(template.content);
      expect(prompts.templates.get(template.name)).toMatchObject({
        source: "fallback",
        problems: [{ severity: "error" }],
      });
      expect(warnings).toMatchObject([
        { file, problem: expect.stringMatching(problem), event: "prompt_override_not_used" },
      ]);
    },
  );

  it("is warned of again when it has changed and after a reload, and is used as soon as it is mended", async () => {
    const file = await put("free_work.txt", "");
    const use = () => freeWorkPrompt(prompts);
    use();
    await writeFile(file, "  ");
    use();
    use();
    expect(warnings).toHaveLength(2);
    prompts.templates.reload();
    use();
    expect(warnings).toHaveLength(3);
    await writeFile(file, "Mended.");
    expect(use()).toContain("Mended.");
  });

  it("may also be a folder, or lie below a file", async () => {
    await mkdir(join(folder, "free_work.txt"), { recursive: true });
    expect(freeWorkPrompt(prompts)).toContain(freeWork.content);
    expect(warnings).toMatchObject([{ problem: "it is not a file" }]);
    await rm(folder, { recursive: true });
    await writeFile(folder, "a file where the folder should be");
    expect(freeWorkPrompt(prompts)).toContain(freeWork.content);
    expect(prompts.identity("general", {})).toBe(builtInPrompts.identity("general", {}));
  });
});

describe("the log", () => {
  it("gets the size of each system text, never its words (PROMPT-02, PROMPT-26)", () => {
    const text = systemText({ task: "A secret task. 秘密任务。", context: { summary: null, facts: {} } }, prompts);
    const { length: characters } = text;
    expect(noted).toEqual([
      { layers: ["identity", "task"], characters, estimated_tokens: countText(text), event: "system_prompt" },
    ]);
  });
});

describe("the manager (PROMPT-05)", () => {
  it("lists every template, says whether it has one, and refuses a name that is none", () => {
    expect(prompts.templates.names()).toEqual(Object.keys(promptParts().templates));
    expect(prompts.templates.metadata("clarify")).toMatchObject({ name: "clarify", source: "builtin", format: "json" });
    expect(prompts.templates.metadata("clarify")).not.toHaveProperty("content");
    expect(prompts.templates.has("clarify")).toBe(true);
    for (const name of ["unknown", "constructor", "__proto__", "../config"]) {
      expect(prompts.templates.has(name)).toBe(false);
      for (const call of [
        () => prompts.templates.get(name),
        () => prompts.templates.metadata(name),
        () => prompts.templates.save(name, "x"),
        () => prompts.templates.reset(name),
        () => prompts.templates.validate(name, {}),
      ]) {
        expect(call).toThrow(expect.objectContaining({ code: "not_found" }));
      }
    }
  });

  it("saves for the next use and for the next start, leaves nothing beside the file, and resets", async () => {
    expect(prompts.templates.save("free_work", "Saved.")).toMatchObject({ source: "custom", content: "Saved." });
    expect(freeWorkPrompt(prompts)).toContain("Saved.");
    expect(freeWorkPrompt(openPrompts(dataDir, promptParts(), logger, countText))).toContain("Saved.");
    expect(await readdir(folder)).toEqual(["free_work.txt"]);
    expect(prompts.templates.reset("free_work")).toMatchObject({ source: "builtin", content: freeWork.content });
    expect(prompts.templates.reset("free_work").source).toBe("builtin");
    expect(await readdir(folder)).toEqual([]);
  });

  it("refuses a text that cannot be used and keeps the one that can", async () => {
    prompts.templates.save("closing_note", "Over: {reason}");
    expect(() => prompts.templates.save("closing_note", "Over.")).toThrow(/\{reason\} does not stand in the text/u);
    expect(() => prompts.templates.save("closing_note", " ")).toThrow(/empty/u);
    expect(prompts.templates.get("closing_note").content).toBe("Over: {reason}");
  });

  it("says what hinders it when the file cannot be written, and goes on with what there is", async () => {
    await writeFile(folder, "a file where the folder should be");
    expect(() => prompts.templates.save("free_work", "Saved.")).toThrow(
      expect.objectContaining({ code: "storage_io", message: expect.stringContaining(join(folder, "free_work.txt")) }),
    );
    expect(() => prompts.identities.save("general", { content: "I." }, new Date(0))).toThrow(
      expect.objectContaining({ code: "storage_io" }),
    );
    expect(freeWorkPrompt(prompts)).toContain(freeWork.content);
  });

  it("keeps the former text when the new one cannot take its place", async () => {
    await mkdir(join(folder, "free_work.txt", "inside"), { recursive: true });
    expect(() => prompts.templates.save("free_work", "Saved.")).toThrow(
      expect.objectContaining({ code: "storage_io" }),
    );
    expect(await readdir(folder)).toEqual(["free_work.txt"]);
  });

  it("validates without saving: the text given or the current one, and the values (PROMPT-21)", () => {
    const { templates: manager } = prompts;
    expect(manager.validate("closing_note", { content: "Over: {reason} {x}", variables: { reason: "time" } })).toEqual({
      valid: true,
      problems: [expect.objectContaining({ kind: "unknown_variable", variable: "x" })],
      text: "Over: time {x}",
    });
    expect(manager.validate("closing_note", { variables: {} })).toMatchObject({
      valid: false,
      problems: [{ kind: "missing_value", severity: "error", variable: "reason" }],
    });
    expect(manager.validate("closing_note", { content: "" })).toMatchObject({ valid: false });
    expect(existsSync(folder)).toBe(false);
  });
});

describe("the identity (PROMPT-18, PROMPT-19)", () => {
  const now = new Date("2026-02-03T04:05:06Z");

  it("is built in until a user saves one, then theirs, with its times, until it is reset", async () => {
    expect(prompts.identities.full("general")).toMatchObject({
      version: "1",
      source: "builtin",
      content: identity.content,
      default_content: identity.content,
      variables: [
        "project_name",
        "user_preferences",
        "today",
        "workspace_files",
        "git_branch",
        ...promptParts().identityVariables,
      ],
      required_variables: [],
      metadata: { created_at: null, updated_at: null, is_custom: false },
    });
    const saved = prompts.identities.save("general", { content: "You are Ada of {project_name}." }, now);
    const at = now.toISOString();
    expect(saved).toMatchObject({ source: "custom", metadata: { created_at: at, updated_at: at, is_custom: true } });
    expect(prompts.identity("general", { project_name: "mill" })).toBe("You are Ada of mill.");
    const later = new Date("2026-03-03T04:05:06Z");
    expect(prompts.identities.save("general", { description: "Ada" }, later)).toMatchObject({
      content: "You are Ada of {project_name}.",
      description: "Ada",
      metadata: { created_at: at, updated_at: later.toISOString() },
    });
    expect(await readdir(folder)).toEqual(["identity.json"]);
    expect(JSON.parse(await readFile(join(folder, "identity.json"), "utf8"))).toMatchObject({
      version: "1",
      name: "Identity",
    });
    expect(prompts.identities.reset("general")).toMatchObject({ source: "builtin", content: identity.content });
  });

  it.each(Object.keys(promptParts().identities))("of the profile %s may use the predefined variables", (profile) => {
    const used = [
      "project_name",
      "user_preferences",
      "today",
      "workspace_files",
      "git_branch",
      ...promptParts().identityVariables,
    ].slice(0, 7);
    const content = used.map((name) => `{${name}}`).join("/");
    const values = Object.fromEntries(used.map((name, index) => [name, index + 1]));
    expect(prompts.identities.save(profile, { content, required_variables: [] }, now).problems).toEqual([]);
    expect(prompts.identity(profile, values)).toBe(used.map((_, index) => index + 1).join("/"));
  });

  it("has a file for each profile", async () => {
    prompts.identities.save("chat", { content: "Documents." }, now);
    expect(prompts.identity("chat", {})).toBe("Documents.");
    expect(prompts.identity("general", {})).toBe(builtInPrompts.identity("general", {}));
    expect(await readdir(folder)).toEqual(["identity_chat.json"]);
  });

  it("has variables that can be added, removed and made required; odd ones are refused", () => {
    const { identities } = prompts;
    const variables = ["team", "goal"];
    identities.save("general", { content: "{team} {goal.gain}", variables, required_variables: ["team"] }, now);
    expect(prompts.identity("general", { team: ["a"], goal: { gain: 3 } })).toBe('["a"] 3');
    expect(identities.save("general", { variables: ["goal"] }, now)).toMatchObject({
      variables: ["goal"],
      required_variables: [],
      problems: [{ kind: "unknown_variable", severity: "warning", variable: "team" }],
    });
    expect(identities.save("general", { variables: [] }, now).variables).toEqual([]);
    for (const odd of ["a b", "", "1a", "a.b", "变量", "x".repeat(65)]) {
      expect(() => identities.save("general", { variables: [odd] }, now)).toThrow(/cannot be a variable/u);
    }
    expect(() => identities.save("general", { variables: ["a", "a"] }, now)).toThrow(/twice/u);
    expect(() => identities.save("general", { variables: ["a"], required_variables: ["b"] }, now)).toThrow(
      /add it there/u,
    );
    expect(() => identities.save("general", { content: "" }, now)).toThrow(/empty/u);
  });

  it("warns of a required variable without a value, and is used all the same (PROMPT-07)", () => {
    prompts.identities.save(
      "general",
      { content: "For {team}.", variables: ["team"], required_variables: ["team"] },
      now,
    );
    expect(prompts.identity("general", {})).toBe("For .");
    expect(prompts.identity("general", {})).toBe("For .");
    expect(prompts.identity("general", { team: "all" })).toBe("For all.");
    expect(warnings).toHaveLength(1);
    expect(warnings).toEqual([
      { profile: "general", problem: "The required variable team has no value.", event: "identity_variable_missing" },
    ]);
  });

  it("gives way to the shortest one where it would say nothing", () => {
    prompts.identities.save("general", { content: "{user_preferences}" }, now);
    expect(prompts.identity("general", {})).toBe(identityMinimal.content);
  });

  it("may be written by hand, with its text alone", async () => {
    await put("identity.json", JSON.stringify({ content: "By hand: {project_name}" }));
    expect(prompts.identity("general", { project_name: "mill" })).toBe("By hand: mill");
    expect(prompts.identities.full("general")).toMatchObject({ source: "custom", name: "Identity" });
  });

  it.each([
    ["no JSON", "You are Ada."],
    ["half of it", '{"content": "You'],
    ["another form", '{"identity": {"content": "You are Ada."}}'],
    ["a newer form", '{"version": "2", "content": "You are Ada."}'],
    ["odd variables", '{"content": "You", "variables": ["a b"]}'],
    ["nothing to say", '{"content": ""}'],
    ["a list", "[]"],
  ])("falls back with a warning that names the file when that holds %s (PROMPT-22)", async (_, text) => {
    const file = await put("identity.json", text);
    expect(prompts.identity("general", {})).toBe(builtInPrompts.identity("general", {}));
    expect(prompts.identities.full("general")).toMatchObject({ source: "fallback", problems: [{ kind: "unusable" }] });
    expect(warnings).toMatchObject([{ file, event: "prompt_override_not_used" }]);
  });

  it("is validated without being saved", () => {
    const { identities } = prompts;
    expect(
      identities.validate("general", { content: "Hi {project_name} {x}" }, { project_name: "mill" }),
    ).toMatchObject({
      valid: true,
      text: "Hi mill {x}",
      problems: [{ kind: "unknown_variable" }],
    });
    expect(identities.validate("general", { variables: ["?"] })).toMatchObject({ valid: false });
    expect(existsSync(folder)).toBe(false);
  });
});
