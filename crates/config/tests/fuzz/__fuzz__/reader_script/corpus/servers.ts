import { config } from '@anygpt/config';

const base = { command: 'npx', args: ['-y'] } as const;

export default config({
  discovery: {
    enabled: true,
    servers: [{ ...base, name: 'github', env: { TOKEN: process.env.TOKEN! } }],
    cacheTtl: 60 * 60,
    label: `x ${process.env['HOME'] ?? '/'} y` + 'z',
  },
} satisfies Config);
