import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { inflateSync } from "node:zlib";
import type { Locator } from "playwright-core";
import { expect } from "vitest";
import type { ModelStep } from "@millrace/testing/model-server";
import type { Person } from "../../../../tests/console/person.ts";
import type { FlowParts, ToolkitFlows } from "../../../../tests/console/toolkit-flows.ts";

/** Designs the circuit that is asked for, in two steps; between them it waits. */
function design(name: string, done: number, held: Promise<void>): ModelStep {
  const calls = (tool: string, given: Record<string, unknown>) => ({ name: tool, arguments: given });
  const text = "Low-pass\nV1 in 0 dc 0 ac 1\nR1 in out 1k\nC1 out 0 1u\n.ac dec 20 1 100k\n.end\n";
  const goals = '[{ "metric": "bandwidth", "target": "1 kHz", "tolerance": "10 Hz" }]';
  const small = "The bandwidth is too small.";
  const simulates = { toolCalls: [calls("run_simulation", { circuit: `${name}.cir` })] };
  const smaller = [{ find: "out 1k", replace: "out 159.155" }];
  const steps: ModelStep[] = [
    {
      toolCalls: [
        calls("rewrite_file", { path: `${name}.cir`, content: text }),
        calls("rewrite_file", { path: `${name}_goals.json`, content: goals }),
      ],
    },
    simulates,
    {
      chunks: [small, " "],
      text: `${small} `,
      hold: { after: 1, until: held },
      toolCalls: [calls("patch_file", { path: `${name}.cir`, changes: smaller })],
    },
    simulates,
  ];
  // The first step has two results.
  return steps[done === 0 ? 0 : done - 1] ?? { text: "The goal is reached." };
}

/** What people do with circuits in the console. */
export function consoleFlows({ stage, held, goOn }: FlowParts): ToolkitFlows {
  let designed = 0;
  return {
    answer: (last, results) => {
      const circuit = /circuit (?<name>rc-\d+)/u.exec(last)?.groups?.["name"];
      return circuit === undefined ? undefined : design(circuit, results, held());
    },
    flows: {
      "take a circuit from a goal to a reached goal, and back a step": async (one) => {
        const { circuits } = one.words.manage;
        const { page } = one.tab;
        designed += 1;
        const name = `rc-${designed}`;
        const netlist = () => readFile(join(stage().server.config.workspace, `${name}.cir`), "utf8");
        const number = (at: number): string => circuits.number.replace("{{number}}", String(at));
        const thread = await one.begin(`Design the circuit ${name} with a bandwidth of 1 kHz`);
        await one.go(`/circuits?name=${name}.cir&part=waveforms`);
        // What the assistant does is seen as it does it.
        const state = (wanted: string) => page.locator(`.figures-table tr[data-state=${wanted}]`);
        await state("missed").waitFor();
        expect(await page.locator(".iterations > li").count()).toBe(1);
        // It misses its goal, so it is not called the best.
        await page.locator('.iterations [data-rank="closest"]').waitFor();
        goOn();
        await state("reached").waitFor();
        await page.locator('.iterations [data-rank="best"]').waitFor();
        for (const dash of [0, 1]) await page.locator(`.plot-curves path[data-dash="${dash}"]`).first().waitFor();
        await lookCloser(one);
        await lookAtNets(one);
        await one.use(number(2));
        await page.locator(".iteration-body .diff").getByText("159.155").waitFor();
        await one.use(number(1));
        await one.use(circuits.back);
        await expect.poll(netlist).toContain("R1 in out 1k");
        await one.use(circuits.takeBack);
        await expect.poll(netlist).toContain("R1 in out 159.155");
        await one.go(`/t/${thread}`);
        await page.locator(".simulation-figure path").nth(1).waitFor();
      },
    },
  };
}

/** Moves what is shown of curves, by a button and by the mouse, and saves them as a picture. */
async function lookCloser(one: Person): Promise<void> {
  const { circuits } = one.words.manage;
  const { page } = one.tab;
  const curve = (): Promise<string | null> => page.locator(".plot-curves path").first().getAttribute("d");
  const changes = async (act: () => Promise<void>): Promise<void> => {
    const before = await curve();
    await act();
    await expect.poll(curve).not.toBe(before);
  };
  await changes(() => one.use(circuits.zoom));
  await changes(() => one.use(circuits.right));
  await changes(() => dragBy(page.locator(".plot > svg").first(), 120, 0));
  const drawing = await page.locator(".plot > svg").first().boundingBox();
  await page.mouse.move((drawing?.x ?? 0) + 200, (drawing?.y ?? 0) + 60);
  await page.keyboard.down("Control");
  await changes(() => page.mouse.wheel(0, 100));
  await page.keyboard.up("Control");
  const saved = page.waitForEvent("download");
  await one.use(circuits.png);
  const picture = await readFile(await (await saved).path());
  expect(picture.subarray(1, 4).toString()).toBe("PNG");
  expect(picture.readUInt32BE(16)).toBeGreaterThan(400);
  // Words and curves have many shades; the background alone has one.
  expect(new Set(pixelsOf(picture)).size).toBeGreaterThan(20);
}

/** The bytes of the lines of a PNG. */
function pixelsOf(picture: Buffer): Buffer {
  const parts: Buffer[] = [];
  for (let at = 8; at < picture.length; at += picture.readUInt32BE(at) + 12) {
    const start = at + 8;
    const isData = picture.toString("latin1", at + 4, start) === "IDAT";
    if (isData) parts.push(picture.subarray(start, start + picture.readUInt32BE(at)));
  }
  return inflateSync(Buffer.concat(parts));
}

/** Marks a net in the drawing and in the netlist, each of which shows it in the other one, and moves the drawing. */
async function lookAtNets(one: Person): Promise<void> {
  const { circuits } = one.words.manage;
  const { page } = one.tab;
  const marked = page.locator(".connection-net[data-on]");
  const drawing = page.locator(".connections");
  await one.use(circuits.connections);
  await one.use(/^out[:：]/u);
  await expect.poll(() => marked.allTextContents()).toEqual(["out"]);
  for (let times = 0; times < 3; times += 1) await page.getByRole("button", { name: circuits.larger }).press("Enter");
  await dragBy(drawing, -80, 0);
  await expect.poll(() => page.evaluate("document.querySelector('.connections').scrollLeft > 40")).toBe(true);
  await one.use(circuits.netlist);
  const field = page.locator(".prompt-text textarea");
  await expect.poll(() => page.locator(".prompt-marks mark").allTextContents()).toContain("out");
  await field.press("ControlOrMeta+Home");
  for (const key of ["ArrowDown", "ArrowRight", "ArrowRight", "ArrowRight"]) await field.press(key);
  await one.use(circuits.connections);
  await expect.poll(() => marked.allTextContents()).toEqual(["in"]);
  await one.use(circuits.netlist);
  await field.waitFor();
}

/** Drags from the middle of an element. */
async function dragBy(element: Locator, across: number, down: number): Promise<void> {
  await element.scrollIntoViewIfNeeded();
  const { x, y, width, height } = (await element.boundingBox()) ?? { x: 0, y: 0, width: 0, height: 0 };
  const { mouse } = element.page();
  await mouse.move(x + width / 2, y + height / 2);
  await mouse.down();
  await mouse.move(x + width / 2 + across, y + height / 2 + down, { steps: 3 });
  await mouse.up();
}
