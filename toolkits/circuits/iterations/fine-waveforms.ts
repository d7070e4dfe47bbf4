import { isAppError } from "@millrace/engine/errors/errors";
import type { FileContext } from "../../../src/tools/workspace/file-access.ts";
import { readAnalysis } from "../simulation/deck/analysis.ts";
import { prepareDeck } from "../simulation/deck/deck.ts";
import type { Engine } from "../simulation/embedded-engine.ts";
import { storedPoints, thinnedWaveform, waveformOf, type Waveform } from "../simulation/waveforms.ts";
import { readText } from "../tools/deck-file.ts";
import type { SimulationResult } from "./iterations.ts";
import { hashOf } from "./kept-netlist.ts";

/** Degrees Celsius of a simulation of which nothing else was said. */
const defaultTemperature = 27;

/**
 * The curves of a simulation with at most so many points. More than are stored come from the same netlist simulated again;
 * where that is not possible any more, as after a change of a file that it includes, they are the stored ones.
 */
export async function waveformsOf(
  circuit: string,
  result: SimulationResult,
  points: number,
  { engine, files }: { engine: Engine; files: FileContext },
): Promise<Waveform[]> {
  const stored = result.waveforms.map((one) => thinnedWaveform(one, points));
  const isCut = result.waveforms.some((one) => one.x.length < Math.min(points, one.points));
  if (points <= storedPoints || !isCut) return stored;
  return (await simulatedAgain(circuit, result, points, { engine, files })) ?? stored;
}

async function simulatedAgain(
  circuit: string,
  { netlist, config }: SimulationResult,
  points: number,
  { engine, files }: { engine: Engine; files: FileContext },
): Promise<Waveform[] | undefined> {
  if (netlist?.text === undefined || netlist.text === null) return undefined;
  const { text } = netlist;
  let isSame = true;
  try {
    const deck = await prepareDeck(circuit, async (path) => {
      if (path === circuit) return text;
      const included = await readText(files, path);
      isSame &&= hashOf(included) === netlist.files[path];
      return included;
    });
    if (!isSame) return undefined;
    const others = deck.statements.filter(({ text: one }) => !/^\.temp\b/iu.test(one));
    const warm = { text: `.temp ${config.temperature}`, file: "configuration", line: 0 };
    // The usual temperature is written down also where the circuit says its own.
    const statements = config.temperature === defaultTemperature ? deck.statements : [...others, warm];
    const found: Waveform[] = [];
    for (const card of config.analyses) {
      const analysis = readAnalysis(card, "configuration");
      const { plot } = await engine.run({ ...deck, statements }, analysis, files.signal);
      found.push(waveformOf(analysis, plot, [config.output, config.input], points));
    }
    return found;
  } catch (error) {
    files.signal.throwIfAborted();
    // A file that it includes may be gone, and a limit lower than it was.
    if (isAppError(error)) return undefined;
    throw error;
  }
}
