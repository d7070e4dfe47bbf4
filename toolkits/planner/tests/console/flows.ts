import { expect } from "vitest";
import { z } from "zod";
import { dayAfter } from "../../../../console/run/model-days.ts";
import { localDay } from "../../../../console/run/tasks.ts";
import type { FlowParts, ToolkitFlows } from "../../../../tests/console/toolkit-flows.ts";

const Found = z.object({ data: z.array(z.looseObject({ scheduled_dates: z.array(z.string()) })) });

/** What people do with tasks in the console. */
export function consoleFlows({ stage, key }: FlowParts): ToolkitFlows {
  const headers = { "x-api-key": key };
  return {
    answer: (last, results) =>
      last.includes("plan a task") && results === 0
        ? { toolCalls: [{ name: "create_task", arguments: { title: "Mow" } }] }
        : undefined,
    flows: {
      "keep tasks, which other windows and scripts change too": async (one) => {
        const { circuits, tasks, prompts } = one.words.manage;
        const { page } = one.tab;
        const find = async (): Promise<string> =>
          (await stage().server.send("POST", "/api/tasks/search", { query: "paint" }, headers)).text();
        await one.go("/tasks");
        // The day is said in words.
        await one.write(
          tasks.new,
          one.words.manage.tasks.title !== "Tasks" ? "明天 Paint the door" : "Paint the door tomorrow",
        );
        await one.use(tasks.add);
        const days = async (): Promise<readonly string[]> =>
          Found.parse(JSON.parse(await find())).data[0]?.scheduled_dates ?? [];
        const planned = [dayAfter(localDay(Date.now()), 1)];
        await expect.poll(days).toEqual(planned);
        await one.choose(tasks.moveOf.replace("{{title}}", "Paint"), tasks.state.undated);
        await expect.poll(days).toEqual([]);
        await one.use(circuits.takeBack);
        await expect.poll(days).toEqual(planned);
        await one.use(tasks.view.board);
        const row = page.locator(".task-row", { hasText: "Paint" });
        // On a phone columns are below one another, and tasks are not dragged.
        const isWide = (page.viewportSize()?.width ?? 0) > 1_000;
        await (isWide ? row.dragTo(page.locator(".task-columns > section").last()) : row.getByRole("checkbox").click());
        await expect.poll(find).toContain('"completed":true');
        await one.use(tasks.view.day);
        await one.use(tasks.dayAfter);
        await one.use("Paint the door");
        await page.getByRole("dialog").waitFor();
        await one.write(tasks.words, "Paint the house");
        await one.use(prompts.save);
        await expect.poll(find).toContain("Paint the house");
        const id = new URL(page.url()).searchParams.get("task") ?? "";
        await stage().server.send("POST", `/api/tasks/${id}/schedules`, { scheduled_date: "2001-01-01" }, headers);
        await page.getByRole("dialog").locator(".chip").nth(1).waitFor();
        await one.use(tasks.delete);
        await one.use(tasks.delete, true);
        await page.getByRole("dialog").waitFor({ state: "detached" });
        expect(await find()).toContain('"data":[]');
        // One that a model has made is shown in its chat, and leads back there.
        const thread = await one.begin("plan a task");
        await page.locator(".tool-card .task-row").waitFor();
        await one.use(/^Mow/u);
        await page.getByRole("dialog").locator("time").waitFor();
        await one.use(/Mow/u, true);
        await page.waitForURL((url) => url.pathname.endsWith(thread));
      },
    },
  };
}
