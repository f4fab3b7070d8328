module example.com/signettest

go 1.22
