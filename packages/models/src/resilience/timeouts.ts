import type { Timeouts, ModelOptions } from "../provider.ts";
import { thinksFirst } from "../call-defaults.ts";
import type { ModelProfile } from "../registry/model-profile.ts";

/** Time-outs in a profile or provider, in seconds; null means the default of `timeoutsOf`. */
export type StatedTimeouts = Partial<
  Pick<ModelProfile, "connect_seconds" | "first_token_seconds" | "idle_seconds" | "total_seconds">
>;

const usual = { connect: 10, read: 60, total: 300 };
/** For a model that must first be loaded, on a busy machine. */
const localRead = 120;
/** A thinking model may be silent for long before its first token. */
const thinking = { first: 300, total: 600 };

/** A model's time-outs: from its profile, else 10 s, 60 s, 60 s and 300 s, or more if it is local or thinks. */
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
