import type { BaseMessage } from "@langchain/core/messages";
import { Hono } from "hono";
import { z } from "zod";
import { breathing } from "../../breathing.ts";
import { countImage, ImageDetail } from "../../context/image-tokens.ts";
import { countMessagesExactly, type CountedText } from "../../context/token-counter.ts";
import { countMessages, countText } from "../../context/tokens.ts";
import { availableContext, modelLimits } from "../../models/model-limits.ts";
import { fromStored, StoredMessage } from "../../sessions/stored-message.ts";
import { describe } from "../describe.ts";
import type { HttpApp, HttpEnvironment, HttpServices } from "../environment.ts";
import { answerJson } from "../json.ts";
import { jsonBody } from "../validate.ts";

const Pixels = z.number().int().min(1).max(1_000_000);
const Counting = z
  .object({
    model: z.string().min(1).max(200).nullish().describe("Whose limits are told; left out: the server's model"),
    text: z.string().optional(),
    messages: z.array(StoredMessage).max(10_000).optional(),
    image: z.object({ width: Pixels, height: Pixels, detail: ImageDetail.default("high") }).optional(),
  })
  .refine(({ text, messages, image }) => [text, messages, image].filter((given) => given !== undefined).length === 1, {
    message: "expected exactly one of text, messages and image",
  })
  .meta({ ref: "TokenCountCreate" });

const CountShape = z
  .object({
    tokens: z.number().int(),
    method: z.enum(["exact", "estimate", "formula"]).describe("formula: images cost by their size"),
    estimate: z.number().int().describe("What the server itself goes by where it has to be quick"),
    limits: z.object({
      context: z.number().int(),
      output: z.number().int(),
      available: z.number().int().describe("context - output - tokens, at least 0"),
    }),
  })
  .meta({ ref: "TokenCount" });

/** `POST /tokens/count`: what a text, messages or an image cost, and what they leave of a model's window (TOKEN-07). */
export function tokenRoutes({ config, models, tokens: counter }: HttpServices): HttpApp {
  const routes: HttpApp = new Hono<HttpEnvironment>();

  async function count(
    { text, messages, image }: z.infer<typeof Counting>,
    model: string,
    signal: AbortSignal,
  ): Promise<{ tokens: number; method: CountedText["method"] | "formula"; estimate: number }> {
    if (image !== undefined) {
      const tokens = countImage(image, image.detail, model);
      return { tokens, method: "formula", estimate: tokens };
    }
    if (messages !== undefined) {
      const list: BaseMessage[] = [];
      const breathe = breathing(signal);
      let estimate = 0;
      for (const stored of messages) {
        await breathe();
        const message = fromStored(stored, "");
        list.push(message);
        estimate += countMessages([message]);
      }
      return { ...(await countMessagesExactly(list, counter, signal)), estimate };
    }
    return { ...(await counter.count(text ?? "", signal)), estimate: countText(text ?? "") };
  }

  routes.post(
    "/tokens/count",
    describe({ tag: "Meta", summary: "Count the tokens of a text, of messages or of an image", answer: CountShape }),
    jsonBody(Counting),
    async (context) => {
      const body = context.req.valid("json");
      const model = body.model ?? models.roles().main;
      const counted = await count(body, model, context.req.raw.signal);
      const limits = modelLimits(model, config.contextLimit, models.profile);
      const available = availableContext(limits, counted.tokens);
      return answerJson(context, { ...counted, limits: { ...limits, available } });
    },
  );
  return routes;
}
