import type { Language } from "@millrace/engine/language";
import type { Advice, ErrorCode } from "@millrace/engine/errors/errors";
import type { OllamaStatus } from "./health.ts";

/** Out-of-memory errors of Ollama. */
const memoryWords = /system memory|out of memory|\boom\b|unexpectedly stopped|resource limitations|cuda error|vram/iu;

const start: Advice = {
  en: "Start the service with `ollama serve`",
  zh: "请运行 `ollama serve` 启动服务",
};
const address: Advice = {
  en: "check its address (OLLAMA_BASE_URL, or base_url of the provider ollama)",
  zh: "并检查服务地址（OLLAMA_BASE_URL，或 ollama 厂商的 base_url）",
};
const smaller: Advice = {
  en: "choose a smaller or more quantised model, or a smaller context for this one",
  zh: "换用更小或量化程度更高的模型，或减小该模型的上下文长度",
};

/** Advice for a failure of a local model, by error code and text. */
export function failureAdvice(code: ErrorCode, message: string, model: string): Advice | undefined {
  if (code === "server" && memoryWords.test(message)) {
    return {
      en: `The machine has too little memory for this model: ${smaller.en}.`,
      zh: `内存或显存不足：请${smaller.zh}。`,
    };
  }
  switch (code) {
    case "network":
    case "service_paused":
      return { en: `${start.en}, and ${address.en}.`, zh: `${start.zh}，${address.zh}。` };
    case "not_found":
      return { en: `Pull the model with \`ollama pull ${model}\`.`, zh: `请运行 \`ollama pull ${model}\` 安装模型。` };
    case "timeout":
      return {
        en: "Local models are slow: give this one more time (first_token_seconds and total_seconds in models.yaml), or choose a smaller or quantised model.",
        zh: "本地模型推理较慢：请增加超时时间（models.yaml 中的 first_token_seconds 和 total_seconds），或换用更小或量化的模型。",
      };
    case "server":
      return {
        en: "Look at the log of Ollama; where the model cannot be loaded, choose a smaller or quantised one.",
        zh: "请查看 Ollama 的日志；如果模型加载失败，请检查内存和显存，或换用更小或量化的模型。",
      };
    default:
      return undefined;
  }
}

const statusTexts: Record<OllamaStatus, Record<Language, { message: string; suggestion: string | null }>> = {
  RUNNING: {
    en: { message: "Ollama is running.", suggestion: null },
    zh: { message: "Ollama 正在运行。", suggestion: null },
  },
  NOT_RUNNING: {
    en: { message: "Ollama is not running.", suggestion: `${start.en}, and ${address.en}.` },
    zh: { message: "Ollama 服务未启动。", suggestion: `${start.zh}，${address.zh}。` },
  },
  NOT_INSTALLED: {
    en: {
      message: "Ollama is not installed on this machine.",
      suggestion: `Install it from https://ollama.com/download; where it runs elsewhere, ${address.en}.`,
    },
    zh: {
      message: "本机未安装 Ollama。",
      suggestion:
        "请从 https://ollama.com/download 安装；如果服务在其他机器上，请设置服务地址（OLLAMA_BASE_URL，或 ollama 厂商的 base_url）。",
    },
  },
  ERROR: {
    en: {
      message: "Ollama does not answer as it should.",
      suggestion:
        "Check its address (OLLAMA_BASE_URL, or base_url of the provider ollama) and its log, then start it again.",
    },
    zh: {
      message: "Ollama 服务异常。",
      suggestion: "请检查服务地址（OLLAMA_BASE_URL，或 ollama 厂商的 base_url）和 Ollama 的日志，然后重新启动服务。",
    },
  },
};

/** The service's status as text with advice. */
export function statusText(status: OllamaStatus, language: Language): { message: string; suggestion: string | null } {
  return statusTexts[status][language];
}
