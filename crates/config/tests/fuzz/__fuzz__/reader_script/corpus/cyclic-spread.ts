const a = { ...b };
const b = { ...a };
export default { ...a };
