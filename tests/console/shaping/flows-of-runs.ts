import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "vitest";
import { z } from "zod";
import { projectFolder } from "../../support/source-files.ts";
import { rests, sees, type Stage } from "../console-page.ts";
import type { Person } from "../person.ts";

const Days = z.array(z.object({ input_tokens: z.number(), output_tokens: z.number() }));

/** An MCP server, which takes a file for its log. */
const program = join(projectFolder, "toolkits/mcp/tests/fake-server.ts");

/** The actions of a person on MCP servers and on what runs and models took, signed in with the key. */
export function flowsOfRuns(stage: () => Stage, key: string): Record<string, (one: Person) => Promise<void>> {
  const headers = { "x-api-key": key };
  return {
    "let an MCP server in, look at its tools, switch it off and remove it": async (one) => {
      const { crons, mcp } = one.words.manage;
      const { page } = one.tab;
      const name = `server-${Date.now().toString(36)}`;
      const list = async (): Promise<string> =>
        (await stage().server.send("GET", "/mcp/servers", undefined, headers)).text();
      await one.go("/mcp");
      await one.use(mcp.add);
      await one.write(mcp.name, name);
      const args = [program, join(stage().server.config.workspace, "mcp.log")];
      await one.write(mcp.entry, JSON.stringify({ command: process.execPath, args }));
      await one.use(mcp.add, true);
      await one.use(mcp.reconnect);
      await page.locator(".shaping-one dd").getByText(mcp.event.connected).first().waitFor();
      await one.use(`${name}__echo`);
      await page.getByRole("heading", { name: `${name}__echo` }).waitFor();
      await one.go(`/mcp/${name}`);
      await one.use(crons.switchOff);
      await expect.poll(list).toMatch(/"enabled":false/u);
      await page.locator(".shaping-one .facts").getByText(mcp.state.off, { exact: true }).waitFor();
      await one.use(mcp.remove);
      await page.getByRole("dialog").waitFor();
      await one.use(mcp.remove, true);
      await expect.poll(list).not.toContain(name);
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
      // The bar of today says and shows what the server counts.
      const slider = page.locator(".bar-chart [role=slider]");
      await slider.waitFor();
      await expect
        .poll(async () => {
          await slider.focus();
          await page.keyboard.press("ArrowLeft");
          const days = Days.parse(await (await stage().server.send("GET", "/usage/models", undefined, headers)).json());
          const tokens = days.reduce((sum, day) => sum + day.input_tokens + day.output_tokens, 0);
          const label = ((await slider.getAttribute("aria-valuetext")) ?? "").replaceAll(/\D/gu, "");
          const height = Number(await page.locator(".bar-chart [data-marked] .bar").getAttribute("height"));
          return { isAnnounced: tokens > 0 && label.endsWith(String(tokens)), isShown: height > 0 };
        })
        .toEqual({ isAnnounced: true, isShown: true });
      const saved = page.waitForEvent("download");
      await one.use(statistics.save);
      const rows = await readFile(await (await saved).path(), "utf8");
      expect(rows).toMatch(/^day,model,requests,failed,/u);
      expect(rows).toContain("openai:scripted");
      await page.getByText("openai:scripted").last().waitFor();
    },
  };
}
