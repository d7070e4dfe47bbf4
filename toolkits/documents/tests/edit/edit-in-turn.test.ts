import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { projectFolder } from "../../../../tests/support/source-files.ts";
import { startModelServer, startTestServer } from "../../../../tests/support/testing.ts";
import type { ModelServer, TestServer } from "../../../../tests/support/testing.ts";
import { editWord } from "../../edit/edit-word.ts";
import { aDocx, richBody } from "./a-docx.ts";

let model: ModelServer;
let server: TestServer;
beforeAll(async () => {
  model = await startModelServer({});
  server = await startTestServer({
    graphs: join(projectFolder, "langgraph.json"),
    model: "openai:scripted",
    openai: { apiKey: "test-key", baseUrl: model.url },
  });
});
afterAll(async () => {
  await server.remove();
  await model.close();
});

const Operations = z.object({
  operations: z.array(
    z.looseObject({ operation_id: z.string(), type: z.string(), path: z.string(), status: z.string() }),
  ),
});
const Diff = z.looseObject({ lines: z.array(z.looseObject({ kind: z.string(), text: z.string() })) });

describe("a turn that edits a Word document", () => {
  it("reads it, reports text not found, edits it, shows the diff, and undoes it byte for byte", async () => {
    const file = join(server.config.workspace, "plan.docx");
    const before = aDocx(richBody);
    await writeFile(file, before);
    const call = (name: string, args: object) => ({ toolCalls: [{ name, arguments: { path: "plan.docx", ...args } }] });
    const edits = [
      { old_string: "We ask for three days.", new_string: "We ask for **four** days.\n\nNo more." },
      { old_string: "| Belt | 35 € | used<br>but whole |\n", new_string: "" },
    ];
    model.push(
      call("read_file", {}),
      call("edit_file", { edits: [{ old_string: "We ask for 3 days.", new_string: "x" }] }),
      call("edit_file", { edits }),
      { text: "Done." },
    );
    const { thread_id: thread } = await server.client.threads.create();
    await server.client.runs.wait(thread, "agent", {
      input: { messages: [{ role: "user", content: "Ask for a day more in plan.docx, and drop the belt." }] },
      context: { mode: "free_work" },
    });
    const results = model.requests.slice(1).map(({ messages }) => JSON.stringify(messages.at(-1)));
    expect(results[0]).toContain("We ask for three days.");
    expect(results[1]).toContain("We ask for three days.");
    expect(results[1]).toContain("is not in the file");
    expect(results[2]).toContain("Changed plan.docx (2 places).");
    model.assertFinished();

    const path = `/threads/${thread}/operations`;
    const get = async (what: string): Promise<unknown> => await (await server.send("GET", what)).json();
    const { operations } = Operations.parse(await get(path));
    expect(operations.map(({ status }) => status)).toEqual(["success", "failed"]);
    const [operation] = operations;
    expect(operation).toMatchObject({ type: "modify", path: "plan.docx" });
    const { lines } = Diff.parse(await get(`${path}/${operation?.operation_id}/diff?limit=100`));
    const signs = lines.map(({ kind, text }) => (kind === "same" ? "" : `${kind} ${text}`));
    expect(signs.filter((line) => line !== "" && !line.endsWith(" "))).toEqual([
      "removed We ask for three days.",
      "added We ask for four days.",
      "added No more.",
      "removed | Belt | 35 € | used<br>but whole |",
    ]);
    expect(await readFile(file)).not.toEqual(before);
    expect((await server.send("POST", `${path}/${operation?.operation_id}/undo`)).status).toBe(200);
    expect(await readFile(file)).toEqual(before);
  });
});

const office = ["/usr/bin/soffice", "/usr/bin/libreoffice", "/usr/local/bin/soffice"].find(existsSync);

describe("an edited Word document", () => {
  // Where LibreOffice is not installed, it is skipped.
  it.skipIf(office === undefined)("is opened by LibreOffice, with its picture, its table and its notes", async () => {
    const folder = await mkdtemp(join(tmpdir(), "millrace-office-"));
    try {
      const edits = [
        { old_string: "We ask for three days.", new_string: "We ask for four days.\n\nNo more." },
        { old_string: "| Belt | 35 € | used<br>but whole |", new_string: "| Gate | 12 € | new |\n| Rope | 3 € | |" },
        { old_string: "Figure 1: the mill", new_string: "" },
      ];
      await writeFile(join(folder, "plan.docx"), editWord(aDocx(richBody), edits).file ?? "");
      const profile = `-env:UserInstallation=file://${join(folder, "profile")}`;
      const plan = join(folder, "plan.docx");
      await promisify(execFile)(office ?? "", [
        profile,
        "--headless",
        "--convert-to",
        "html",
        "--outdir",
        folder,
        plan,
      ]);
      const read = (await readFile(join(folder, "plan.html"), "utf8")).replaceAll(/<[^>]*>|\s+/gu, " ");
      expect(read.replaceAll(/\s+/gu, " ")).toMatch(
        /Plan for the mill .*We ask for fourtwo days. No more\. .*Axle 120 € .*Gate 12 € new Rope 3 € .*Measured in May/u,
      );
      expect(await readFile(join(folder, "plan.html"), "utf8")).toContain("<img ");
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });
});
