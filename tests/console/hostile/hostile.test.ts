import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import type { ModelRequest, ModelStep } from "@millrace/testing/model-server";
import { chromiumPath, openStage, type Stage, type Tab } from "../console-page.ts";
import { hostileTexts } from "./hostile-texts.ts";

const all = hostileTexts();
/** Texts that are tried, spread over the corpus; `HOSTILE=400` for the whole of it. */
const wanted = Math.min(all.length, Number(process.env["HOSTILE"] ?? 40));
const texts = all.filter((_, index) => (index * wanted) % all.length < wanted);
/** Texts of one thread: the page draws what is in sight, so that threads are short. */
const perThread = 20;
/** Milliseconds that a walk through all threads may take on a busy machine. */
const longest = 120_000 + texts.length * 1_000;

/** Calls what a hostile text names, with it as arguments. */
function answer({ messages }: ModelRequest): ModelStep {
  const last = messages.findLast(({ role }) => role === "user")?.content;
  const hasResult = messages.at(-1)?.role === "tool";
  const some = texts.slice(0, 60).join("\n");
  if (hasResult) return { text: some };
  if (last === "ask") {
    const options = texts.slice(20, 26);
    return { toolCalls: [{ name: "ask_followup_question", arguments: { question: texts[0] ?? "", options } }] };
  }
  if (last === "write") {
    const calls = ["<img src=x onerror=pwn()>", "[x](javascript:pwn())", "\u202Egnp.exe"].map((name) => ({
      name: "create_file",
      arguments: { path: `${name}.md`, content: texts.join("\n") },
    }));
    return { reasoning: some, toolCalls: calls };
  }
  return { text: "I remove it.", toolCalls: [{ name: "delete_file", arguments: { path: "<svg onload=pwn()>.md" } }] };
}

/** A thread in which hostile texts stand wherever a text may stand. */
function threadOf(part: readonly string[]): object {
  const messages = part.flatMap((text, index) => [
    {
      type: "human",
      id: `h${index}`,
      content: text,
      additional_kwargs: { attachments: [{ name: text.slice(0, 200), path: text.slice(0, 200), type: "file" }] },
    },
    {
      type: "ai",
      id: `a${index}`,
      content: text,
      additional_kwargs: {
        reasoning_content: text,
        is_partial: true,
        stop_reason: text,
        status_summary: text,
        suggestions: [{ label: text.slice(0, 60), value: text }],
        web_search_results: [{ title: text, url: text }],
      },
      tool_calls: [
        {
          id: `c${index}`,
          name: text.slice(0, 60),
          args: { path: text, [text.slice(0, 40)]: text },
          type: "tool_call",
        },
        { id: `d${index}`, name: "read_file", args: { path: text }, type: "tool_call" },
      ],
    },
    { type: "tool", id: `t${index}`, tool_call_id: `c${index}`, name: text.slice(0, 60), content: text },
    { type: "tool", id: `e${index}`, tool_call_id: `d${index}`, name: "read_file", content: `Error (failed): ${text}` },
  ]);
  const name = (part[0] ?? "").replaceAll(/\p{C}/gu, "").trim().slice(0, 80);
  return { format: "millrace.session", version: 1, session_name: name, graph_id: "agent", messages };
}

const Made = z.object({ thread_id: z.string() });

/** What the texts call where they are executed. */
const trap = "window.pwn = () => { window.pwned = (window.pwned ?? 0) + 1; }";

describe.skipIf(chromiumPath === undefined)("hostile texts", () => {
  let stage: Stage;
  const threads: string[] = [];
  const runs: string[] = [];
  beforeAll(async () => {
    stage = await openStage(answer);
    for (let start = 0; start < texts.length; start += perThread) {
      const made = await stage.server.send("POST", "/threads/import", threadOf(texts.slice(start, start + perThread)));
      const text = await made.text();
      if (made.status !== 200) throw new Error(`${start}: ${text}`);
      threads.push(Made.parse(JSON.parse(text)).thread_id);
    }
    for (const words of ["ask", "write", "remove"]) {
      const { thread_id } = await stage.server.client.threads.create();
      threads.push(thread_id);
      const input = { messages: [{ role: "user", content: words }] };
      await stage.server.client.runs.wait(thread_id, "agent", { input, context: { mode: "free_work" } });
      const [run] = await stage.server.client.runs.list(thread_id);
      runs.push(`/t/${thread_id}/run/${run?.run_id ?? ""}`);
    }
  });
  afterAll(() => stage.close());

  /** A tab in which what is executed is counted; without the policy, if that is wanted. */
  const openTrap = async (hasPolicy: boolean): Promise<Tab> => {
    const tab = await stage.open({ path: "/inbox", height: 3_000 });
    const { page } = tab;
    await page.addInitScript(trap);
    if (!hasPolicy) {
      await page.route("**/console/**", async (route) => {
        const response = await route.fetch();
        const { "content-security-policy": policy, ...headers } = response.headers();
        expect(policy).toContain("require-trusted-types-for");
        await route.fulfill({ response, headers });
      });
    }
    await page.addInitScript(
      "addEventListener('securitypolicyviolation', (event) => console.error('Content Security Policy', event.blockedURI))",
    );
    await page.reload();
    return tab;
  };

  /** Closes a tab. What it still asks for has no answer then, which is no failure. */
  const close = async ({ page, context }: Tab): Promise<void> => {
    await page.unrouteAll({ behavior: "ignoreErrors" });
    await context.unrouteAll({ behavior: "ignoreErrors" });
    await context.close();
  };

  /** What happened in a tab that must not. */
  const harm = async ({ page, problems }: Tab): Promise<string[]> => {
    const ran = Number(await page.evaluate("window.pwned ?? 0"));
    return ran === 0 ? problems : [...problems, `${ran} were executed`];
  };

  /** Opens everything that can be opened, from the end of the page to its beginning. */
  const unfold = (page: Tab["page"], scroller: string): Promise<unknown> =>
    page.evaluate(`(async () => {
      const scroller = document.querySelector("${scroller}");
      for (let turn = 0; turn < 200; turn += 1) {
        for (const button of document.querySelectorAll("${scroller} [aria-expanded=false]")) button.click();
        await new Promise(requestAnimationFrame);
        const before = scroller.scrollTop;
        scroller.scrollTop -= 2_500;
        await new Promise(requestAnimationFrame);
        if (scroller.scrollTop === before && before === 0) break;
      }
    })()`);

  /** Goes through all threads, runs and lists, and gives what happened that must not. */
  const walk = async (tab: Tab): Promise<string[]> => {
    const { page } = tab;
    const found: string[] = [];
    for (const thread of threads) {
      // As a link does, without loading the page anew.
      await page.evaluate(`history.pushState(null, "", "/console/t/${thread}")`);
      await page.locator(".conversation-item").first().waitFor();
      await unfold(page, ".conversation");
    }
    for (const run of runs) {
      for (const view of ["time", "state", "events"]) {
        await page.evaluate(`history.pushState(null, "", "/console${run}?view=${view}")`);
        await page.getByRole("tabpanel").locator("button, [role=treeitem]").first().waitFor();
        await unfold(page, ".run-body");
      }
    }
    found.push(...(await harm(tab)));
    for (const place of ["runs", "inbox"]) {
      await page.goto(`${stage.server.url}/console/${place}`);
      await page
        .locator(place === "runs" ? ".run-link" : ".approval-card")
        .first()
        .waitFor();
    }
    await page.keyboard.press("Control+k");
    await page.getByRole("option").first().waitFor();
    found.push(...(await harm(tab)));
    return found;
  };

  it(
    `of which ${texts.length} are tried are texts in every place, and the policy is never needed`,
    async () => {
      expect(new Set(all).size).toBe(400);
      const tab = await openTrap(true);
      expect(await walk(tab)).toEqual([]);
      await close(tab);
    },
    longest,
  );

  it(
    "are texts without the policy too",
    async () => {
      const tab = await openTrap(false);
      expect(await walk(tab)).toEqual([]);
      await close(tab);
    },
    longest,
  );

  it("would be noticed if a page made markup of them", async () => {
    const insert = (text: string): string =>
      `document.body.append(document.createRange().createContextualFragment(${JSON.stringify(text)}))`;
    const guarded = await openTrap(true);
    await guarded.page.evaluate(insert("<img src=x onerror=pwn()>")).catch(() => undefined);
    await expect.poll(() => harm(guarded)).not.toEqual([]);
    await close(guarded);
    const open = await openTrap(false);
    await open.context.route("**/evil.example/**", (route) => route.abort());
    // Those that lead the page elsewhere would take the count with them.
    const attempts = all.filter((text) => text.startsWith("<") && !/<(meta|base)/u.test(text));
    for (const text of attempts) await open.page.evaluate(insert(text)).catch(() => undefined);
    await expect.poll(() => harm(open)).toContainEqual(expect.stringMatching(/^\d+ were executed$/u));
    await expect.poll(() => harm(open)).toContainEqual(expect.stringMatching(/^to \S*evil\.example/u));
    await close(open);
  });
});
