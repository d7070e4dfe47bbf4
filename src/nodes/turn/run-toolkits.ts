import type { RunnableConfig } from "@langchain/core/runnables";
import { servicesOf } from "../../loop/services.ts";
import type { RunContext } from "../../state.ts";
import { chosenToolkits, identityOfToolkits } from "../../toolkits/enabled-toolkits.ts";
import type { Toolkit } from "../../toolkits/toolkit.ts";

/** The run's toolkits. Throws `invalid_parameter` for one the server does not have. */
export function runToolkits(context: RunContext, config: RunnableConfig): readonly Toolkit[] {
  return chosenToolkits(context.toolkits, servicesOf(config).toolkits);
}

/** The run's toolkits that are available. */
export function availableToolkits(context: RunContext, config: RunnableConfig): readonly Toolkit[] {
  const { toolkitServices: services } = servicesOf(config);
  return runToolkits(context, config).filter(({ isAvailable }) => isAvailable?.({ services, context }) ?? true);
}

/** The profile whose identity the assistant uses: the run's, else that of a toolkit it names, else `general`. */
export function profileOf(context: RunContext, config: RunnableConfig): string {
  return context.profile ?? identityOfToolkits(context.toolkits, servicesOf(config).toolkits) ?? "general";
}

/** A profile's toolkit parts; `undefined` if no toolkit has the profile. */
export function profileParts(profile: string, config: RunnableConfig): Toolkit["identity"] {
  return servicesOf(config).toolkits.find(({ identity }) => identity?.profile === profile)?.identity;
}
