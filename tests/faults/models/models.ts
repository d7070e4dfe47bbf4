import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { refusingAddress } from "@millrace/testing/model-server";
import { firstProviderDown } from "./first-down.ts";
import { faultNames, planSequences, type ModelSequence } from "./model-plans.ts";
import { nothingFound, playSequence, startPlannedModels, type SequenceFindings } from "./model-sequences.ts";
import { noneOf, type Figure, type Scenario } from "../harness/scenario.ts";
import { openWorld, type World } from "../harness/world.ts";

const atOnce = 6;

/** Model servers that fail in all ways, one after the other, by chance; and a first provider that is down (reliability 2.4). */
export const models: Scenario = {
  name: "models",
  async run({ long, random, say }) {
    const sequences = planSequences(long ? 1000 : 30, random);
    const findings = nothingFound();
    const planned = await startPlannedModels(sequences, findings);
    const environment = { OPENAI_BASE_URL: `${planned.address}/v1`, OLLAMA_BASE_URL: planned.address };
    try {
      const world = await openWorld(() => ({ text: "This call is not expected." }), { environment });
      try {
        await saySo(world);
        const { pid } = world.server;
        await playAll(world, sequences, findings, say);
        const down = await firstProviderDown(world, long ? 40 : 10);
        const isSame = world.server.pid === pid;
        return [
          ...judged(world, sequences, findings),
          ...down,
          noneOf("ends of the server", isSame ? [] : ["it ended"], 1),
        ];
      } finally {
        await world.close();
      }
    } finally {
      await planned.close();
    }
  },
};

/** Time-outs of the models that fail, short so that none is waited for; and the provider that is down. */
async function saySo({ folder }: World): Promise<void> {
  const short = "{ connect_seconds: 1, first_token_seconds: 0.4, idle_seconds: 0.4, total_seconds: 2 }";
  const gone = `gone: { base_url: "${await refusingAddress()}/v1" }`;
  const text = `providers:\n  ${gone}\nmodels:\n  openai:s*: ${short}\n  ollama:s*: ${short}\n`;
  writeFileSync(join(folder, "data", "models.yaml"), text);
}

async function playAll(
  world: World,
  sequences: readonly ModelSequence[],
  findings: SequenceFindings,
  say: (text: string) => void,
): Promise<void> {
  let done = 0;
  const left = sequences[Symbol.iterator]();
  const worker = async (): Promise<void> => {
    for (const sequence of left) {
      await playSequence(world, sequence, findings).catch((error: unknown) =>
        findings.unended.push(`sequence ${sequence.index}: ${String(error)}`),
      );
      done += 1;
      if (done % 100 === 0) say(`${done} of ${sequences.length} sequences`);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  say([...findings.ends].map(([end, count]) => `${count} runs: ${end}`).join(", "));
}

function judged(world: World, sequences: readonly ModelSequence[], findings: SequenceFindings): Figure[] {
  const { played, compared, ends } = findings;
  const count = sequences.length;
  const runs = [...ends.values()].reduce((sum, each) => sum + each, 0);
  const kinds = faultNames.filter((name) => played.has(name)).length;
  const answers = [...played.values()].reduce((sum, each) => sum + each, 0);
  const log = readFileSync(world.server.logFile, "utf8").split("\n");
  // What the tools have done, and must not have done, stands in the workspace.
  const files = readdirSync(world.workspace).filter((name) => name.startsWith("whole-")).length;
  return [
    {
      what: `kinds of faults among ${answers} answers in ${count} sequences`,
      measured: `${kinds} of ${faultNames.length}`,
      target: count < 1000 ? "most" : "all",
      holds: count < 1000 ? kinds > faultNames.length / 2 : kinds === faultNames.length,
    },
    noneOf(
      "unhandled rejections",
      log.filter((line) => line.includes("unhandled_rejection")),
      runs,
    ),
    noneOf("runs or streams without an end", findings.unended, runs),
    noneOf("texts that readers saw and that are not kept", findings.lost, compared),
    noneOf("calls run from half of their arguments", findings.halfCalls, count * 2),
    noneOf("histories a strict provider refused", findings.invalid, answers),
    noneOf("next messages not answered", findings.unanswered, count),
    {
      what: "files of whole calls, and texts compared",
      measured: `${files} of ${played.get("a call") ?? 0}, ${compared}`,
      target: "> 0",
      holds: files > 0 && compared > 0,
    },
  ];
}
