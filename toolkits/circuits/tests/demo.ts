import { deepEqual, equal, match, ok } from "node:assert/strict";
import { copyFileSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { projectFolder } from "../../../tests/support/source-files.ts";
import type { Language } from "@millrace/engine/language";
import type { ServerProcess } from "../../../tests/support/processes/server-process.ts";
import type { ModelStep } from "@millrace/testing/model-server";
import type { Demo } from "../../../tests/e2e/demo/demo-session.ts";
import { questionOf, turn, withScriptedModel } from "../../../tests/e2e/demo/demo-turns.ts";
import { note, say } from "../../../tests/e2e/demo/demo-view.ts";

const circuit = "cmos-amplifier.cir";
const samples = join(projectFolder, "samples/circuits");

/** An amplifier is designed: its goals are written down, it is simulated and measured, changed until they are reached, and accepted. */
const circuitDesign: Demo = {
  prepare(workspace) {
    for (const name of ["rc-low-pass.cir", circuit]) copyFileSync(join(samples, name), join(workspace, name));
  },
  async perform(server, workspace, language) {
    await measureFilter(server, language);
    await withScriptedModel(server, script(language), {}, async () => {
      const { thread_id: thread } = await server.client.threads.create({
        metadata: { name: texts[language].amplifier },
      });
      await writeGoals(server, workspace, thread, language);
      await simulateFirst(server, thread, language);
      await optimise(server, workspace, thread, language);
      await accept(server, workspace, thread, language);
    });
  },
};

/** What is said in either language, by the user and by the demo. */
const texts = {
  en: {
    filter: "Filter",
    amplifier: "Amplifier",
    title: {
      filter: "A filter is simulated and measured, by ngspice (the offline model)",
      goals: "The goals are found in the user's words (a scripted model from here on)",
      first: "The first iteration: one of the goals is missed, and the server asks what comes next",
      more: "Two more iterations: the circuit is changed, and simulated again",
      accept: "The design is accepted",
    },
    simulate: "Simulate rc-low-pass.cir",
    need: "I need a gain of 40 dB, 200 MHz at unity gain, a phase margin of 60 degrees, and no more than 1.2 mW.",
    written: "The four goals are written down.",
    optimise: `Optimise ${circuit}`,
    slow: "The amplifier is too slow.",
    missed: (megahertz: string) =>
      new RegExp(`unity_gain_frequency: at least 200 MHz, missed: ${megahertz}\\.\\d+ MHz`, "u"),
    goOn: "Continue optimising",
    choice: (id: string) => `Choice: ${id}.`,
    done: (iteration: number) => new RegExp(`Iteration ${iteration} is done\\.`, "u"),
    bias: "The model raises the bias current from 50 to 100 uA.",
    current: "More current helps, and is not enough.",
    twice: "The model makes the input transistors twice as wide.",
    wider: "Wider transistors at the input do the rest.",
    reached: /All goals are reached\./u,
    plots: "cmos-amplifier_ac.svg and .png show gain and phase.",
    accept: "Accept the design",
    stays: `${circuit} stays as it was designed, with its result beside it.`,
  },
  zh: {
    filter: "滤波器",
    amplifier: "放大器",
    title: {
      filter: "用 ngspice 仿真并测量滤波器（离线模型）",
      goals: "从用户的话中提取设计目标（以下为脚本模型）",
      first: "第一次迭代：有一个目标未达到，服务器询问下一步",
      more: "再迭代两次：修改电路并重新仿真",
      accept: "接受设计",
    },
    simulate: "仿真 rc-low-pass.cir",
    need: "我需要 40 dB 的增益、200 MHz 的单位增益频率、60 度的相位裕度，功耗不超过 1.2 mW。",
    written: "四个目标已记录。",
    optimise: `优化 ${circuit}`,
    slow: "放大器的速度不够。",
    missed: (megahertz: string) =>
      new RegExp(`unity_gain_frequency：不低于 200 MHz，未达到：${megahertz}\\.\\d+ MHz`, "u"),
    goOn: "继续优化",
    choice: (id: string) => `选择：${id}。`,
    done: (iteration: number) => new RegExp(`第 ${iteration} 次迭代完成。`, "u"),
    bias: "模型把偏置电流从 50 uA 提高到 100 uA。",
    current: "增大电流有帮助，但还不够。",
    twice: "模型把输入晶体管的宽度加倍。",
    wider: "加宽输入晶体管之后，目标全部达到。",
    reached: /目标全部达成。/u,
    plots: "cmos-amplifier_ac.svg 和 .png 显示增益和相位。",
    accept: "接受设计",
    stays: `${circuit} 保持设计完成时的样子，仿真结果保存在同一文件夹中。`,
  },
};

const calls = (name: string, given: Record<string, unknown>): ModelStep => ({
  toolCalls: [{ name, arguments: given }],
});
const simulates = calls("run_simulation", { circuit });
const wider = ["M1 x inp s 0", "M2 out inn s 0"].map((pins) => ({
  find: `${pins} nch w=40u l=1u`,
  replace: `${pins} nch w=80u l=1u`,
}));
const goals = [
  { name: "gain", operator: ">=", value: 40, unit: "dB" },
  { name: "unity_gain_frequency", operator: ">=", value: 200, unit: "MHz" },
  { name: "phase_margin", operator: ">=", value: 60, unit: "deg" },
  { name: "power", operator: "<=", value: 1.2, unit: "mW" },
];
const script = (language: Language): ModelStep[] => [
  calls("rewrite_file", { path: ".circuit_ai/design_goals.json", content: `${JSON.stringify({ goals }, null, 2)}\n` }),
  { text: texts[language].written },
  simulates,
  { text: texts[language].slow },
  calls("patch_file", { path: circuit, changes: [{ find: "Ib vdd b 50u", replace: "Ib vdd b 100u" }] }),
  simulates,
  { text: texts[language].current },
  calls("patch_file", { path: circuit, changes: wider }),
  simulates,
  calls("plot_simulation", { circuit, analysis: "ac", signals: ["out"] }),
  calls("plot_simulation", { circuit, analysis: "ac", signals: ["out"], format: "png" }),
  { text: texts[language].wider },
];

async function measureFilter(server: ServerProcess, language: Language): Promise<void> {
  const { title, filter, simulate: request } = texts[language];
  say(1, title.filter, request);
  const { thread_id: thread } = await server.client.threads.create({ metadata: { name: filter } });
  const result = await turn(server, thread, request, {});
  const bandwidth = Number(/bandwidth ([\d.]+) Hz/u.exec(result)?.[1]);
  ok(Math.abs(bandwidth - 159.155) < 0.8, `1 / (2 pi R C) is 159.155 Hz, measured was: ${result}`);
}

async function writeGoals(server: ServerProcess, workspace: string, thread: string, language: Language): Promise<void> {
  const { title, need: request } = texts[language];
  say(2, title.goals, request);
  await turn(server, thread, request, { model: "openai:demo", action_type: "extract_design_goals" });
  const written: unknown = JSON.parse(readFileSync(join(workspace, ".circuit_ai/design_goals.json"), "utf8"));
  deepEqual(written, { goals }, "the goals were not written down");
}

async function simulateFirst(server: ServerProcess, thread: string, language: Language): Promise<void> {
  const { title, optimise: request, missed } = texts[language];
  say(3, title.first, request);
  const context = { model: "openai:demo", work_mode: "workflow", action_type: "optimize_parameters" };
  const measured = await turn(server, thread, request, context);
  match(measured, /Goal gain: at least 40 dB, reached with 44\.\d+ dB/u, `the gain should be reached: ${measured}`);
  match(await questionOf(server, thread), /design_checkpoint/u);
  const { summary } = await review(server, thread);
  match(summary, missed("104"), `it should be too slow: ${summary}`);
}

async function optimise(server: ServerProcess, workspace: string, thread: string, language: Language): Promise<void> {
  const { title, goOn, done, missed, reached, bias, twice, plots } = texts[language];
  say(4, title.more, goOn);
  await choose(server, thread, "continue_optimizing", language);
  const second = await review(server, thread);
  match(second.summary, done(2));
  match(second.summary, missed("146"));
  ok(!second.choices.includes("accept_design"), "a design that misses a goal cannot be accepted");
  note(bias);
  note(second.summary);
  await choose(server, thread, "continue_optimizing", language);
  const third = await review(server, thread);
  match(third.summary, done(3));
  match(third.summary, reached);
  equal(third.choices[0], "accept_design", "to accept it should be proposed first");
  note(twice);
  note(third.summary);
  match(readFileSync(join(workspace, "cmos-amplifier_ac.svg"), "utf8"), /^<svg[\s\S]*<polyline/u, "there is no plot");
  equal(readFileSync(join(workspace, "cmos-amplifier_ac.png")).toString("latin1", 1, 4), "PNG", "there is no picture");
  note(plots);
}

async function accept(server: ServerProcess, workspace: string, thread: string, language: Language): Promise<void> {
  const { title, accept: request, stays } = texts[language];
  say(5, title.accept, request);
  await choose(server, thread, "accept_design", language);
  equal((await server.client.threads.get(thread)).status, "idle", "the session should wait for nothing");
  const { metrics } = z
    .looseObject({ metrics: z.record(z.string(), z.number()) })
    .parse(JSON.parse(readFileSync(join(workspace, "cmos-amplifier_sim.json"), "utf8")));
  ok((metrics["unity_gain_frequency"] ?? 0) >= 200e6, `the result on disk says otherwise: ${JSON.stringify(metrics)}`);
  match(readFileSync(join(workspace, circuit), "utf8"), /M1 x inp s 0 nch w=80u l=1u[\s\S]*Ib vdd b 100u/u);
  note(stays);
}

const Proposed = z.array(
  z.looseObject({ status_summary: z.string(), options: z.array(z.looseObject({ id: z.string() })) }),
);

/** What the last iteration came to, and what may come next. */
async function review(server: ServerProcess, thread: string): Promise<{ summary: string; choices: string[] }> {
  const response = await fetch(`${server.url}/threads/${thread}/suggestions`);
  const last = Proposed.parse(await response.json()).at(-1);
  return { summary: last?.status_summary ?? "", choices: last?.options.map(({ id }) => id) ?? [] };
}

/** Chooses what comes next, and waits until that has happened. */
async function choose(server: ServerProcess, thread: string, id: string, language: Language): Promise<void> {
  note(texts[language].choice(id));
  const response = await fetch(`${server.url}/threads/${thread}/suggestions/${id}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: "{}",
  });
  equal(response.status, 200, `the choice was refused: ${await response.clone().text()}`);
  const { run_id: run } = z.looseObject({ run_id: z.string() }).parse(await response.json());
  await server.client.runs.join(thread, run);
}

/** What `npm run demo -- <name>` shows. */
export const demos = { circuit: circuitDesign };
