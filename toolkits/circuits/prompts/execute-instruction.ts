import { defineTemplate } from "../../../src/prompts/template.ts";
import { spiceFormat } from "./output-formats.ts";

/** PROMPT_EXECUTE_INSTRUCTION: one clear instruction for a circuit. */
export const executeInstruction = defineTemplate({
  name: "execute_instruction",
  title: { en: "One instruction", zh: "执行指令" },
  description: "Carries out one instruction about the circuit, and nothing more.",
  required: ["instruction"],
  optional: ["circuit", "context"],
  format: spiceFormat,
  content: [
    "Do what the instruction says to the circuit, and nothing more. What it does not speak of stays as it is.",
    "Instruction: {instruction}",
    "Circuit: {circuit}",
    "Context: {context}",
  ].join("\n"),
});
