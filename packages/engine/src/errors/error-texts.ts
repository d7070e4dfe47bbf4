import type { ErrorCode } from "./errors.ts";
import type { Language } from "../language.ts";

/** A failure's text for users: what happened, and what to do. */
export interface UserText {
  message: string;
  suggestion: string;
}

function text(message: string, suggestion: string): UserText {
  return { message, suggestion };
}

/**
 * Each failure's text for users, without technical terms or quotes from providers and the system; those are in the log.
 */
const texts: Record<ErrorCode, Record<Language, UserText>> = {
  rate_limit: {
    en: text("Too many requests came in a short time.", "Wait a little, then try again."),
    zh: text("请求过于频繁。", "请稍等片刻后重试。"),
  },
  auth: {
    en: text("Access was refused: a key is missing or is not valid.", "Check the key in the configuration."),
    zh: text("未获授权：缺少密钥或密钥无效。", "请检查配置中的密钥。"),
  },
  quota: {
    en: text("The quota of the model service is used up.", "Add credit or raise the plan, or choose another model."),
    zh: text("模型服务的配额已用完。", "请充值或升级套餐，或换用其他模型。"),
  },
  network: {
    en: text(
      "The connection failed or was interrupted.",
      "Check the network and the service's address, then try again.",
    ),
    zh: text("无法连接到服务，或连接中断。", "请检查网络和服务地址，然后重试。"),
  },
  timeout: {
    en: text(
      "There was no answer in time.",
      "Try again; a smaller task, a faster model or a longer time-out may help.",
    ),
    zh: text("请求超时。", "请重试；缩小任务、换用更快的模型或延长超时时间可能有帮助。"),
  },
  server: {
    en: text("The service failed.", "Try again later; if it lasts, report it together with the request's id."),
    zh: text("服务器错误。", "请稍后重试；如果持续出现，请附上请求编号反馈。"),
  },
  service_paused: {
    en: text(
      "The model service has failed several times and is not asked for the moment.",
      "Try again in a minute, or choose another model.",
    ),
    zh: text("模型服务连续多次失败，暂时停止请求。", "请一分钟后重试，或换用其他模型。"),
  },
  empty_result: {
    en: text("Nothing was found.", "Try other or fewer keywords."),
    zh: text("没有找到结果。", "请换用其他关键词或减少关键词。"),
  },
  invalid_format: {
    en: text("The content has a form that cannot be read.", "Check the form of what was sent, then send it again."),
    zh: text("内容的格式无法读取。", "请检查所发送内容的格式后重新发送。"),
  },
  missing_parameter: {
    en: text("A necessary value is missing.", "Fill in the value that is named, then send it again."),
    zh: text("缺少必要的参数。", "请补充所指出的参数后重新发送。"),
  },
  invalid_parameter: {
    en: text("A value is not acceptable.", "Correct the value that is named, then send it again."),
    zh: text("有参数不符合要求。", "请修改所指出的参数后重新发送。"),
  },
  tool_not_found: {
    en: text("There is no tool of that name.", "Choose a tool from the list."),
    zh: text("没有这个名称的工具。", "请从工具列表中选择。"),
  },
  execution_failed: {
    en: text("A step could not be carried out.", "Try again, do the step by hand, or ask for another way."),
    zh: text("有一个步骤未能完成。", "请重试、手动完成该步骤，或换一种方式。"),
  },
  api_error: {
    en: text("The service did not accept the request.", "Change the request, or choose another model."),
    zh: text("服务没有接受这个请求。", "请修改请求，或换用其他模型。"),
  },
  not_found: {
    en: text("What was asked for is not there.", "Check the name or the path; it may have been moved or deleted."),
    zh: text("找不到所请求的内容。", "请检查名称或路径；它可能已被移动或删除。"),
  },
  permission: {
    en: text("That is not allowed.", "Check the permissions of the file or folder, or choose another place."),
    zh: text("没有权限。", "请检查文件或文件夹的权限，或换一个位置。"),
  },
  conflict: {
    en: text("Something else has changed or is using this at the moment.", "Look at how it is now, then try again."),
    zh: text("内容已被更改，或正在被使用。", "请查看当前内容后重试。"),
  },
  context_overflow: {
    en: text(
      "The conversation is too long for the model.",
      "Start a new conversation, or reduce what is referred to, or choose a model that reads more.",
    ),
    zh: text("对话内容过长，超出了模型的限制。", "请开启新对话、减少引用内容，或换用能读取更长内容的模型。"),
  },
  too_large: {
    en: text("The content is too large.", "Send less at once, or split the file."),
    zh: text("内容过大。", "请减少一次发送的内容，或拆分文件。"),
  },
  blocked: {
    en: text("A rule does not allow this.", "Ask for it in another way."),
    zh: text("规则不允许此操作。", "请换一种方式提出。"),
  },
  denied: {
    en: text("This was refused by a user.", "Nothing was done; ask again if it was meant after all."),
    zh: text("用户拒绝了此操作。", "没有执行任何操作；如果确实需要，请再次提出。"),
  },
  cancelled: {
    en: text("This was stopped.", "Send the message again to go on."),
    zh: text("操作已停止。", "如需继续，请重新发送消息。"),
  },
  invalid_state: {
    en: text(
      "That is not possible at this point.",
      "Load the conversation again, then try again; if it lasts, report it.",
    ),
    zh: text("当前状态下无法执行此操作。", "请重新加载对话后重试；如果持续出现，请反馈。"),
  },
  unavailable_tool_mode: {
    en: text("The model cannot use tools.", "Choose a model that can, or talk without tools."),
    zh: text("该模型不支持工具。", "请换用支持工具的模型，或不使用工具进行对话。"),
  },
  config: {
    en: text("The server is not set up correctly.", "Ask whoever runs the server to check its configuration."),
    zh: text("服务器配置有误。", "请联系服务器管理员检查配置。"),
  },
  storage_full: {
    en: text("The server has no space left.", "Free some space, then try again."),
    zh: text("服务器存储空间已满。", "请释放空间后重试。"),
  },
  storage_readonly: {
    en: text("The server cannot write its data.", "Ask whoever runs the server to check its data folder."),
    zh: text("服务器无法写入数据。", "请联系服务器管理员检查数据目录。"),
  },
  storage_io: {
    en: text("The server cannot read or write its data.", "Ask whoever runs the server to check its disk."),
    zh: text("服务器无法读写数据。", "请联系服务器管理员检查磁盘。"),
  },
  storage_corrupt: {
    en: text("A part of the server's data is damaged.", "Ask whoever runs the server to restore a backup."),
    zh: text("服务器的部分数据已损坏。", "请联系服务器管理员恢复备份。"),
  },
  storage_newer: {
    en: text("The server's data is of a newer version.", "Ask whoever runs the server to update it."),
    zh: text("服务器的数据来自更新的版本。", "请联系服务器管理员升级服务器。"),
  },
  storage_unavailable: {
    en: text("The server's database does not answer.", "Try again in a moment."),
    zh: text("服务器的数据库没有响应。", "请稍后重试。"),
  },
};

/** The question about a permanently failed model call; `hasOther`: an alternative exists. */
export function errorQuestion(code: ErrorCode, hasOther: boolean, language: Language): string {
  const what = userSentence(code, language);
  if (language === "zh") {
    return `${what}要重试（Retry）、${hasOther ? "换一种方式（TryAlternative）、" : ""}跳过这一步（Skip）还是取消（Cancel）？`;
  }
  const other = hasOther ? "try another way (TryAlternative), " : "";
  return `${what} Shall I try again (Retry), ${other}leave this step out (Skip) or stop (Cancel)?`;
}

/** The text of a failure kind in one language. */
export function userText(code: ErrorCode, language: Language): UserText {
  return texts[code][language];
}

/** A failure's text for users as one string; `advice` replaces the general advice. */
export function userSentence(code: ErrorCode, language: Language, advice?: string): string {
  const { message, suggestion: usual } = texts[code][language];
  const suggestion = advice ?? usual;
  return language === "zh" ? `${message}${suggestion}` : `${message} ${suggestion}`;
}
