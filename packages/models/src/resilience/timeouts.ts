import type { Timeouts, ModelOptions } from "../provider.ts";
import { thinksFirst } from "../call-defaults.ts";
import type { ModelProfile } from "../registry/model-profile.ts";

/** What a profile or a provider states of them, in seconds; null leaves it to `timeoutsOf`. */
export type StatedTimeouts = Partial<
  Pick<ModelProfile, "connect_seconds" | "first_token_seconds" | "idle_seconds" | "total_seconds">
>;

const usual = { connect: 10, read: 60, total: 300 };
/** A model that has to be loaded first, on a machine that does other work. */
const localRead = 120;
/** A model that thinks may be silent for long before its first word. */
const thinking = { first: 300, total: 600 };

/** The time-outs of a model: what its profile states, else 10 s, 60 s, 60 s and 300 s, more where it runs here or thinks. */
export function timeoutsOf(
  profile: StatedTimeouts & Pick<ModelProfile, "thinking">,
  isLocal: boolean,
  options: ModelOptions = {},
): Timeouts {
  const read = isLocal ? localRead : usual.read;
  const thinks = thinksFirst(profile, options);
  const seconds = {
    connect: profile.connect_seconds ?? usual.connect,
    first: profile.first_token_seconds ?? (thinks ? thinking.first : read),
    idle: profile.idle_seconds ?? read,
    total: profile.total_seconds ?? (thinks ? thinking.total : usual.total),
  };
  return {
    connectMs: seconds.connect * 1000,
    firstTokenMs: seconds.first * 1000,
    idleMs: seconds.idle * 1000,
    totalMs: seconds.total * 1000,
  };
}
