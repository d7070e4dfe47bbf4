import { readFile } from "node:fs/promises";
import { expect } from "vitest";
import { z } from "zod";
import { rests, sees, type Stage } from "../console-page.ts";
import type { Person } from "../person.ts";

/** What somebody does with tasks and with what runs and models took, signed in with the key. */
export function flowsOfTasksAndRuns(stage: () => Stage, key: string): Record<string, (one: Person) => Promise<void>> {
  const headers = { "x-api-key": key };
  return {
    "keep tasks, which other windows and scripts change too": async (one) => {
      const { tasks, prompts } = one.words.manage;
      const { page } = one.tab;
      const find = async (): Promise<string> =>
        (await stage().server.send("POST", "/api/tasks/search", { query: "paint" }, headers)).text();
      await one.go("/tasks");
      await one.write(tasks.new, "Paint the door");
      await one.use(tasks.add);
      await one.use("Paint the door");
      await page.getByRole("dialog").waitFor();
      await one.write(tasks.words, "Paint the house");
      await one.use(prompts.save);
      await expect.poll(find).toContain("Paint the house");
      const id = new URL(page.url()).searchParams.get("task") ?? "";
      await stage().server.send("POST", `/api/tasks/${id}/schedules`, { scheduled_date: "2001-01-01" }, headers);
      await page.getByRole("dialog").locator(".chip").waitFor();
      await one.use(tasks.delete);
      await one.use(tasks.delete, true);
      await page.getByRole("dialog").waitFor({ state: "detached" });
      expect(await find()).toContain('"data":[]');
    },
    "put two runs side by side, and see what models took": async (one) => {
      const { compare } = one.words.work;
      const { statistics } = one.words.manage;
      const { page } = one.tab;
      const Runs = z.array(z.object({ run_id: z.string(), thread_id: z.string() }));
      const named: string[] = [];
      for (const text of ["say one", "say two"]) {
        const thread = await one.begin(text);
        await sees(one.tab, `You said: ${text}`);
        await rests(one.tab);
        const path = `/threads/${thread}/runs`;
        const [run] = Runs.parse(await (await stage().server.send("GET", path, undefined, headers)).json());
        named.push(`${thread}/${run?.run_id}`);
      }
      await one.go(`/compare?left=${named[0]}&right=${named[1]}`);
      await page.reload();
      await page.getByText(compare.difference.answer).first().waitFor();
      await one.use(compare.toFirst);
      await page.keyboard.press("Enter");
      const [removed, added] = ["removed", "added"].map((kind) => page.locator(`.compare-calls [data-kind=${kind}]`));
      await removed?.filter({ hasText: "say one" }).first().waitFor();
      await added?.filter({ hasText: "say two" }).first().waitFor();
      await one.go("/statistics");
      const saved = page.waitForEvent("download");
      await one.use(statistics.save);
      const rows = await readFile(await (await saved).path(), "utf8");
      expect(rows).toMatch(/^day,model,requests,failed,/u);
      expect(rows).toContain("openai:scripted");
      await page.getByText("openai:scripted").last().waitFor();
    },
  };
}
