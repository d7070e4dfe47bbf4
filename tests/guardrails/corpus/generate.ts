import {
  call,
  oneByOne,
  type RecordedCall,
  type RecordedLoop,
  type RecordedRound,
  type Recording,
} from "./recording.ts";

/** A source of numbers that gives the same ones for the same seed (mulberry32). */
export class Dice {
  #state: number;

  constructor(seed: number) {
    this.#state = seed;
  }

  /** At least 0, below 1. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  }

  /** A whole number from `low` to `high`, both included. */
  between(low: number, high: number): number {
    return low + Math.floor(this.next() * (high - low + 1));
  }

  pick<Item>(items: readonly [Item, ...Item[]]): Item {
    return items[this.between(0, items.length - 1)] ?? items[0];
  }

  word(): string {
    const syllables = ["ka", "lo", "mi", "ter", "su", "ran", "vel", "ob", "shi", "gul"] as const;
    return Array.from({ length: this.between(2, 4) }, () => this.pick(syllables)).join("");
  }

  path(): string {
    return `${this.word()}/${this.word()}.${this.pick(["md", "ts", "txt"])}`;
  }
}

const many = <Item>(length: number, make: (at: number) => Item): Item[] => Array.from({ length }, (_, at) => make(at));

/** Replies of `size` calls each. */
function replies(calls: RecordedCall[], size: number, text = ""): RecordedRound[] {
  return many(Math.ceil(calls.length / size), (at) => ({ text, calls: calls.slice(at * size, (at + 1) * size) }));
}

/** Reads of files that were not read before. */
function newReads(dice: Dice, length: number): RecordedCall[] {
  return many(length, (at) => call("read_file", { path: `${dice.path()}${at}` }, `text ${dice.word()} ${dice.next()}`));
}

/** A loop after a little honest work, in replies of one to three calls; what a reply has asked for together runs together. */
function loop(dice: Dice, rule: RecordedLoop["rule"], calls: RecordedCall[], within: number): RecordedLoop {
  const size = dice.pick([1, 1, 1, 2, 3]);
  const before = newReads(dice, dice.between(0, 6));
  const bound = Math.ceil((before.length + within) / size) * size;
  return { name: rule, request: "Do it.", opening: replies([...before, ...calls], size), rule, within: bound };
}

function aCall(dice: Dice): RecordedCall {
  const path = dice.path();
  return dice.pick([
    call("read_file", { path, start_line: dice.between(1, 50) }, dice.word()),
    call("search_content", { path: dice.word(), regex: dice.word() }, `3 matches of ${dice.word()}`),
    call("list_files", { path: dice.word() }, `${dice.path()}\n${dice.path()}`),
    call("web_search", { query: `${dice.word()} ${dice.word()}` }, dice.word()),
    call("update_file", { path, content: dice.word() }, `Updated ${path}.`),
  ]);
}

/** The same call over and over, with up to one new read before each. */
function withReads(dice: Dice, single: RecordedCall): { calls: RecordedCall[]; every: number } {
  const every = dice.pick([1, 1, 2]);
  return { calls: many(16, () => [...newReads(dice, every - 1), single]).flat(), every };
}

function respelt(dice: Dice, words: string[]): string {
  const order = dice.next() < 0.5 ? words : words.toReversed();
  const cased = order.map((word) =>
    dice.pick([word, word.toUpperCase(), `${word.charAt(0).toUpperCase()}${word.slice(1)}`]),
  );
  return `${dice.pick(["", " ", '"'])}${cased.join(dice.pick([" ", "  "]))}${dice.pick(["", ".", "?", " "])}`;
}

function toAndFro(dice: Dice): [RecordedCall, RecordedCall] {
  const [one, other, folder] = [dice.path(), `${dice.path()}.bak`, dice.word()];
  return dice.pick([
    [call("create_folder", { path: folder }, "Created."), call("delete_file", { path: folder }, "Deleted.")],
    [
      call("move_file", { source: one, destination: other }, "Moved."),
      call("move_file", { source: other, destination: one }, "Moved."),
    ],
    [
      call("update_file", { path: one, content: "on" }, "Updated."),
      call("update_file", { path: one, content: "off" }, "Updated."),
    ],
    [call("set_switch", { name: folder, on: true }, "Done."), call("set_switch", { name: folder, on: false }, "Done.")],
  ]);
}

/** One generated loop of each kind. */
export const loopKinds: Record<RecordedLoop["rule"], (dice: Dice) => RecordedLoop> = {
  same_failure(dice) {
    const tool = dice.pick(["edit_file", "run_command", "fetch_page"]);
    const { calls, every } = withReads(
      dice,
      call(tool, { what: dice.word() }, dice.word(), { failed: "execution_failed" }),
    );
    return loop(dice, "same_failure", calls, 3 * every - 1);
  },
  repeated_call(dice) {
    const { calls, every } = withReads(dice, aCall(dice));
    return loop(dice, "repeated_call", calls, 5 * every - 1);
  },
  similar_call(dice) {
    const words = [dice.word(), dice.word(), dice.word()];
    const result = dice.word();
    const calls = many(24, (at) => call("web_search", { query: respelt(dice, words), limit: 10 + at }, result));
    return loop(dice, "similar_call", calls, 5);
  },
  cycle(dice) {
    const length = dice.between(2, 6);
    const row = many(length, (at) => {
      const { args, ...single } = aCall(dice);
      return { ...single, args: { ...args, at } };
    });
    return loop(dice, "cycle", many(6, () => row).flat(), 3 * length);
  },
  invented_calls(dice) {
    const size = dice.between(1, 3);
    const invented = (at: number): RecordedCall =>
      call(`${dice.word()}_${at}`, { at }, `no tool ${at}`, { failed: "tool_not_found" });
    const opening = [...replies(newReads(dice, dice.between(0, 3)), 1), ...replies(many(10 * size, invented), size)];
    return { name: "invented_calls", request: "Do it.", opening, rule: "invented_calls", within: 3 + 4 * size };
  },
  state_flapping(dice) {
    const pair = toAndFro(dice);
    const calls = many(20, (at) => ({ ...(at % 2 === 0 ? pair[0] : pair[1]), result: `change ${at}` }));
    return loop(dice, "state_flapping", calls, 6);
  },
  stagnating_results(dice) {
    const failed = dice.next() < 0.5 ? { failed: "network" as const } : {};
    const result = `none: ${dice.word()}`;
    const calls = many(24, (at) => call("web_search", { query: `${dice.word()}${dice.word()}${at}` }, result, failed));
    return loop(dice, "stagnating_results", calls, 8);
  },
  stagnation(dice) {
    const best = dice.between(10, 100);
    const calls = many(30, (at) => {
      const metrics = {
        gain_db: best * (1 - (at === 0 ? 0 : 0.2 * dice.next())),
        noise: best * (1 + (at === 0 ? 0 : dice.next())),
      };
      return call("run_simulation", { at }, `run ${at}`, { metrics });
    });
    return loop(dice, "stagnation", calls, 12);
  },
  repeated_text(dice) {
    const phrase = `I will go on with ${dice.word()} and ${dice.word()} now`;
    const forced = dice.next() < 0.5;
    const rounds = many(12, () => ({
      text: `${dice.pick(["", "Sure. ", "Okay! "])}${phrase}${dice.pick([".", "!", " ."])}`,
      forced,
    }));
    return { name: "repeated_text", request: "Do it.", opening: rounds, rule: "repeated_text", within: forced ? 2 : 5 };
  },
};

function polling(dice: Dice): RecordedCall[] {
  // Two states of the same name in a row would be one that lasts too long.
  const states = many(dice.between(1, 4), (at) => `${dice.word()} ${at}`);
  const polls = states.flatMap((state) => many(dice.between(1, 19), () => call("job_status", { job: 1 }, state)));
  const pause = dice.next() < 0.4;
  return polls.flatMap((poll) => (pause ? [poll, call("sleep", { seconds: 10 }, "Waited.")] : [poll]));
}

function paging(dice: Dice): RecordedCall[] {
  const path = dice.path();
  const step = dice.between(10, 200);
  const kind = dice.between(0, 2);
  return many(dice.between(3, 25), (at) => {
    const first = at * step + 1;
    if (kind === 0) return call("read_file", { path, start_line: first, end_line: first + step }, `from ${first}`);
    if (kind === 1) return call("list_rows", { table: path, offset: first, limit: step }, `rows from ${first}`);
    return call("process_batch", { table: path, page: at }, "processed");
  });
}

function batchEdits(dice: Dice): RecordedCall[] {
  const [from, to] = [dice.word(), dice.word()];
  return many(dice.between(3, 25), (at) =>
    call("edit_file", { path: `${dice.path()}${at}`, old_string: from, new_string: to }, "Edited: 1 line."),
  );
}

function retryAfterFix(dice: Dice): RecordedCall[] {
  const [path, command, error] = [dice.path(), dice.word(), dice.word()];
  const tries = many(dice.between(1, 8), (at) => [
    call("edit_file", { path, old_string: `t${at}`, new_string: `t${at + 1}` }, "Edited: 1 line."),
    call("run_command", { command }, error, { failed: "execution_failed" }),
  ]);
  return [
    ...tries.flat(),
    call("edit_file", { path, old_string: "last", new_string: "right" }, "Edited: 1 line."),
    call("run_command", { command }, "passed"),
  ];
}

function rereading(dice: Dice): RecordedCall[] {
  const path = dice.path();
  return many(dice.between(2, 8), (at) => [
    call("read_file", { path }, `version ${at}`),
    call("update_file", { path, content: `version ${at + 1}` }, "Updated."),
  ]).flat();
}

function listingAfterMoves(dice: Dice): RecordedCall[] {
  const files = many(dice.between(2, 10), (at) => `${dice.word()}${at}`);
  return files.flatMap((file, at) => [
    call("list_files", { path: "in" }, files.slice(at).join("\n")),
    call("move_file", { source: `in/${file}`, destination: `out/${file}` }, "Moved."),
  ]);
}

function lookingUpAList(dice: Dice): RecordedCall[] {
  const words = many(dice.between(5, 25), (at) => `${dice.word()}${"abcdefghijklmnopqrstuvwxyz".charAt(at)}`);
  const list = call("read_file", { path: dice.path() }, words.join("\n"));
  return [list, ...words.map((regex) => call("search_content", { path: ".", regex }, "No matches."))];
}

function improving(dice: Dice): RecordedCall[] {
  let gain = dice.between(5, 50);
  return many(dice.between(5, 30), (at) => {
    // A plateau of up to eight, then a step.
    if (at % 8 === 0) gain *= 1.01 + dice.next() / 10;
    return call("run_simulation", { at }, `run ${at}`, { metrics: { gain_db: gain } });
  });
}

function switching(dice: Dice): RecordedCall[] {
  const path = dice.path();
  return many(dice.between(2, 8), (at) =>
    ["on", "off"].flatMap((content) => [
      call("update_file", { path, content }, "Updated."),
      call("run_command", { command: `case ${at} ${content}` }, `took ${dice.next()}`),
    ]),
  ).flat();
}

const honestWork = {
  polling,
  paging,
  batch_edits: batchEdits,
  retry_after_fix: retryAfterFix,
  rereading,
  listing_after_moves: listingAfterMoves,
  looking_up_a_list: lookingUpAList,
  improving,
  switching,
};

/** One generated piece of honest work of each kind, and several kinds one after the other. */
export const honestKinds: Record<string, (dice: Dice) => Recording> = {
  ...Object.fromEntries(
    Object.entries(honestWork).map(([name, work]) => [name, (dice: Dice) => honest(dice, name, work(dice))]),
  ),
  mixed: (dice) =>
    honest(dice, "mixed", [...retryAfterFix(dice), ...rereading(dice), ...newReads(dice, 3), ...batchEdits(dice)]),
};

function honest(dice: Dice, name: string, calls: RecordedCall[]): Recording {
  const text = dice.pick(["", "Now the next one.", "我将继续处理剩余的文件，让我逐一检查。"]);
  const size = dice.pick([1, 1, 2, 3]);
  // What a reply asks for together does not wait for one another: only work without an order comes in parallel.
  const isUnordered = name === "paging" || name === "batch_edits" || name === "looking_up_a_list";
  return { name, request: "Do it.", opening: isUnordered ? replies(calls, size, text) : oneByOne(calls, text) };
}
