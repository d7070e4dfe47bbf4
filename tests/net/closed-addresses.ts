/** Addresses of this machine, of private networks and of clouds' metadata, in all the ways in which they can be written. */
export const closedAddresses = `
http://127.0.0.1/ http://127.0.0.1:80/ http://127.0.0.1:2024/threads http://127.1/ http://127.0.1/ http://127.255.255.254/
http://0/ http://0.0.0.0/ http://0.0.0.0:2024/ http://0.1.2.3/ http://000.000.000.000/ http://00/ http://0x0/
http://2130706433/ http://2130706433:2024/ http://0x7f000001/ http://0X7F000001/ http://0x7F.1/ http://0x7f.0x0.0x0.0x1/
http://017700000001/ http://0177.0.0.1/ http://0177.0.0.01/ http://0177.1/ http://00000177.00000000.0.1/ http://127.0x1/
http://127.0.0.1./ http://0x7f.1./ http://2130706433./ http://127.00.00.01/ http://0x7f.0.1/ http://127.0.257/
http://localhost/ http://LOCALHOST/ http://localhost./ http://localhost:2024/ http://a.localhost/ http://a.b.localhost./
http://localhost.localdomain/ http://ip6-localhost/ http://ip6-loopback/ http://printer/ http://router./ http://intranet:8080/
http://nas.local/ http://nas.local./ http://box.lan/ http://box.home/ http://box.home.arpa/ http://wiki.corp/ http://a.internal/
http://db.private/ http://wiki.intranet/ http://metadata/ http://metadata.google.internal/ http://metadata.google.internal./
http://metadata.goog/ http://instance-data/ http://instance-data.ec2.internal/ http://hidden.onion/ http://HOST.DOCKER.INTERNAL/
http://10.0.0.1/ http://10.255.255.255/ http://10.1/ http://167772161/ http://0x0a000001/ http://012.0.0.1/ http://0xa.1/
http://172.16.0.1/ http://172.31.255.255/ http://2886729729/ http://0xac100001/ http://172.1048577/ http://0254.020.0.1/
http://192.168.0.1/ http://192.168.1.254:8443/ http://3232235521/ http://0xc0a80001/ http://192.11010049/ http://0300.0250.0.1/
http://169.254.169.254/latest/meta-data/ http://2852039166/ http://0xa9fea9fe/ http://0251.0376.0251.0376/ http://169.254.43518/
http://0xa9.0xfe.0xa9.0xfe/ http://169.16689662/ http://169.254.169.254.:80/ http://169.254.0.1/ http://169.254.170.2/v2/credentials
http://168.63.129.16/machine http://2822734096/ http://100.100.100.200/latest/meta-data/ http://1684301000/ http://192.0.0.192/opc/v1/
http://100.64.0.1/ http://100.127.255.254/ http://192.0.0.1/ http://192.0.2.1/ http://192.88.99.1/ http://198.18.0.1/
http://198.19.255.255/ http://198.51.100.7/ http://203.0.113.9/ http://224.0.0.1/ http://239.255.255.250/ http://240.0.0.1/
http://255.255.255.255/ http://4294967295/ http://0xffffffff/ http://037777777777/
http://[::1]/ http://[::1]:2024/ http://[0:0:0:0:0:0:0:1]/ http://[0000:0000:0000:0000:0000:0000:0000:0001]/ http://[::]/
http://[::127.0.0.1]/ http://[::7f00:1]/ http://[::ffff:127.0.0.1]/ http://[::ffff:7f00:1]/ http://[::FFFF:7F00:0001]/
http://[0:0:0:0:0:ffff:127.0.0.1]/ http://[::ffff:0:127.0.0.1]/ http://[::ffff:10.0.0.1]/ http://[::ffff:192.168.0.1]/
http://[::ffff:169.254.169.254]/ http://[::ffff:a9fe:a9fe]/ http://[::ffff:8.8.8.8]/ http://[::ffff:0.0.0.0]/
http://[64:ff9b::127.0.0.1]/ http://[64:ff9b::7f00:1]/ http://[64:ff9b::169.254.169.254]/ http://[64:ff9b::10.0.0.1]/
http://[64:ff9b:1::127.0.0.1]/ http://[64:ff9b:1:a9fe:a9:fe00::]/ http://[64:ff9b::8.8.8.8]/
http://[2002:7f00:1::]/ http://[2002:7f00:1::1]/ http://[2002:a9fe:a9fe::]/ http://[2002:c0a8:1::1]/ http://[2002:a00:1::]/
http://[2001:0:7f00:1::]/ http://[2001::1]/ http://[2001:0:4136:e378:8000:63bf:80ff:fffe]/ http://[2001:10::1]/ http://[2001:20::1]/
http://[2001:2::1]/ http://[2001:db8::1]/ http://[3fff::1]/ http://[3ffe::1]/ http://[5f00::1]/ http://[100::1]/
http://[fc00::1]/ http://[fd00::1]/ http://[fd00:ec2::254]/latest/meta-data/ http://[fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff]/
http://[fe80::1]/ http://[febf::1]/ http://[fec0::1]/ http://[feff::1]/ http://[ff02::1]/ http://[ff0e::1]/ http://[ff05::1:3]/
http://[::ffff:0:0]/ http://[0::0:1]/ http://[1::]/ http://[4000::1]/ http://[e000::1]/
http://①②⑦.⓪.⓪.①/ http://１２７.0.0.1/ http://127。0。0。1/ http://127．0．0．1/ http://ⓛⓞⓒⓐⓛⓗⓞⓢⓣ/ http://LocalHoſt/
http://%31%32%37.0.0.1/ http://127.0.0.%31/ http://loc%61lhost/ http://%6cocalhost/ http://169.254.169.%32%35%34/ http://0x7f%2e1/
http:127.0.0.1/ http:/127.0.0.1/ http:///127.0.0.1/ http:////127.0.0.1/ http:\\\\127.0.0.1\\ HTTP://127.0.0.1/ https://127.0.0.1/
http://example.com@127.0.0.1/ http://127.0.0.1@example.com/ http://user:word@example.com/ http://example.com:80@127.0.0.1/
http://example.com%40127.0.0.1/ http://@127.0.0.1/ http://127.0.0.1\\@localhost/ http://:x@example.com/
http://127.0.0.1#@example.com/ http://127.0.0.1?@example.com/ http://127.0.0.1\\@example.com/ http://[::1]#.example.com/
http://1.1.1.1:22/ http://1.1.1.1:25/ http://example.com:6/ http://example.com:0/ http://example.com:111/ https://example.com:993/
file:///etc/passwd file://localhost/etc/passwd ftp://example.com/ gopher://127.0.0.1:6379/_INFO dict://127.0.0.1:11211/stats
javascript:alert(1) data:text/html,hello ws://example.com/ wss://example.com/ unix:/var/run/docker.sock about:blank blob:http://a.b/1
jar:http://example.com!/ view-source:http://example.com/ ldap://127.0.0.1/ tftp://127.0.0.1/a netdoc:///etc/passwd
//127.0.0.1/ /etc/passwd 127.0.0.1 localhost:2024 example.com http:// http://[ http://[::1 http://[fe80::1%25eth0]/ http://[::1%25lo]/
http://256.256.256.256/ http://1.2.3.4.5/ http://0x100000000/ http://08.0.0.1/ http://example..com:99999/ http://exa%NUL%mple.com/
`
  .trim()
  .split(/\s+/u)
  .map((written) => written.replaceAll("%NUL%", "\0"));

/** What public names may come to mean: every one of these, alone or among public ones, is refused. */
export const closedAnswers: readonly string[][] = [
  ["127.0.0.1"],
  ["127.8.8.8"],
  ["0.0.0.0"],
  ["10.0.0.7"],
  ["100.64.9.9"],
  ["100.100.100.200"],
  ["168.63.129.16"],
  ["169.254.169.254"],
  ["172.20.0.2"],
  ["192.0.0.170"],
  ["192.168.178.1"],
  ["198.18.5.5"],
  ["224.0.0.251"],
  ["255.255.255.255"],
  ["::1"],
  ["::"],
  ["::ffff:127.0.0.1"],
  ["::ffff:10.0.0.1"],
  ["::ffff:93.184.216.34"],
  ["64:ff9b::7f00:1"],
  ["64:ff9b::a9fe:a9fe"],
  ["2002:7f00:1::1"],
  ["2001:0:7f00:1::"],
  ["fc00::5"],
  ["fd00:ec2::254"],
  ["fe80::1"],
  ["fe80::1%eth0"],
  ["ff02::fb"],
  ["93.184.216.34", "127.0.0.1"],
  ["127.0.0.1", "93.184.216.34"],
  ["93.184.216.34", "10.0.0.1", "1.1.1.1"],
  ["2606:4700:4700::1111", "::1"],
  ["93.184.216.34", "fe80::1"],
  ["1.1.1.1", "169.254.169.254"],
  ["not an address"],
  ["0x7f.1"],
  ["2130706433"],
  ["127.1"],
  [""],
];
