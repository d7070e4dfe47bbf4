import { z } from "zod";

const tokens = z.number().int().positive().max(100_000_000);
/** Fractions are allowed. */
const seconds = z.number().positive().max(86_400).nullable();
const temperature = z.number().min(0).max(2);

/** A model's name: `provider:name`, where the name may contain colons and slashes, or just `offline`. */
export const ModelName = z
  .string()
  .max(200)
  .regex(/^(?:offline|[a-z][a-z0-9-]*:[^\s*\p{Cc}]+)$/u, { error: "expected provider:name, or offline" });

/** A model's price per million tokens; the run chooses the unit. */
export const ModelPrice = z.object({ input: z.number().nonnegative(), output: z.number().nonnegative() });
export type ModelPrice = z.infer<typeof ModelPrice>;

/** A price per million tokens with its currency. Costs in different currencies must not be added up. */
const ProfilePrice = ModelPrice.extend({ currency: z.string().regex(/^[A-Z]{3}$/u) });

/**
 * The complete profile of a model: the single source of limits, abilities, defaults and prices, with the same names in
 * files and on the wire.
 */
export const ModelProfile = z.strictObject({
  display_name: z.string().min(1).max(100).describe("How people call it"),
  context: tokens.describe("Tokens that it may read and write in all"),
  output: tokens.describe("Tokens that it may write in one answer"),
  max_tokens: tokens.nullable().describe("Tokens of an answer that are asked for; null leaves it to the vendor"),
  max_tokens_thinking: tokens.nullable().describe("The same while it thinks"),
  temperature: temperature.nullable().describe("Used where a run names none; null leaves it to the vendor"),
  temperature_thinking: temperature.nullable().describe("The same while it thinks; then a run's own does not count"),
  thinking: z
    .enum(["none", "optional", "on_request", "always"])
    .describe(
      "Whether it thinks before it answers: where it can choose, unless a run says no, or only where one says yes",
    ),
  vision: z.boolean().describe("Whether it sees images"),
  vision_model: ModelName.nullable().describe("Who is asked instead when a message holds images"),
  tool_calls: z
    .enum(["native", "text", "tags"])
    .describe(
      "Whether it calls tools by itself, or writes the calls in its text: as <tool_use>, or in tags of their names",
    ),
  connect_seconds: seconds.describe("Until the connection stands; null: 10"),
  first_token_seconds: seconds.describe(
    "Until the first words of an answer that is streamed; null: 60, with Ollama 120, for a reasoning model 300",
  ),
  idle_seconds: seconds.describe("Silence in the middle of an answer; null: 60, with Ollama 120"),
  total_seconds: seconds.describe("Until the end of an answer; null: 300, for a reasoning model 600"),
  structured_output: z.enum(["json_schema", "json_object", "none"]).describe("The strictest form it can be held to"),
  price: ProfilePrice.nullable().describe("Per million tokens; null where it is not known"),
});
export type ModelProfile = z.infer<typeof ModelProfile>;

/** A partial profile, as rows and files contain it: missing fields come from less specific rows. */
export const ProfilePart = ModelProfile.partial();
export type ProfilePart = z.infer<typeof ProfilePart>;

/** Returns a model's profile by name; never throws, since any name of a provider is allowed. */
export type ReadProfile = (model: string) => ModelProfile;
