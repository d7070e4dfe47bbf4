import { expect } from "vitest";
import { z } from "zod";
import type { FlowParts, ToolkitFlows } from "../../../../tests/console/toolkit-flows.ts";

const Found = z.object({ data: z.array(z.object({ id: z.string(), content: z.string() })) });

/** What people do with memories in the console. */
export function consoleFlows({ stage, key }: FlowParts): ToolkitFlows {
  const headers = { "x-api-key": key };
  return {
    flows: {
      "keep what is remembered, which chats change too": async (one) => {
        const { memory, prompts, edit } = one.words.manage;
        const { page } = one.tab;
        const kept = async () =>
          Found.parse(await (await stage().server.send("GET", "/api/memory", undefined, headers)).json()).data;
        const contents = async (): Promise<string[]> => (await kept()).map(({ content }) => content);
        await stage().server.send("POST", "/api/memory", { kind: "fact", content: "Owns a mill" }, headers);
        await one.go("/memory");
        await one.use(memory.add);
        await one.write(memory.content, "Wants metric units");
        await one.use(memory.add, true);
        await expect.poll(contents).toEqual(["Wants metric units", "Owns a mill"]);
        // On a phone the list lies behind what was opened.
        const entry = page.locator(".shaping-entry[aria-current]", { hasText: "Wants metric units" });
        await entry.waitFor({ state: "attached" });
        await one.write(memory.content, "Wants imperial units");
        // A chat has changed it since it was read: what was written stays beside that, until it is said which counts.
        const [{ id }] = z
          .tuple([z.object({ id: z.string() })])
          .rest(z.unknown())
          .parse(await kept());
        await stage().server.send("PATCH", `/api/memory/${id}`, { content: "Wants nautical miles" }, headers);
        await one.use(prompts.save);
        await page.locator(".changed-elsewhere .diff").getByText("nautical").waitFor();
        expect(await contents()).toContain("Wants nautical miles");
        await one.use(edit.saveOver);
        await expect.poll(contents).toContain("Wants imperial units");
        await one.use(memory.delete);
        await one.use(memory.delete, true);
        await expect.poll(contents).toEqual(["Owns a mill"]);
        await stage().server.send("DELETE", "/api/memory", undefined, headers);
      },
    },
  };
}
