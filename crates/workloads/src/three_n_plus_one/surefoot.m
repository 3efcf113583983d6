surefoot	; Steps of the 3n+1 sequence for every number of a range, kept in global variables: surefoot's worker on GT.M.
	; Each entry reads its orders from standard input, a line each, and answers on standard output.
	;   ^step(n)       steps of n; both as digits, or as words with a language for each digit
	;   ^block(first)  last integer of a block;  ^claim(first), ^done(first)
	;   ^total(name)   longest, highest, reads, updates
	quit
	;
create	; Begins anew with these blocks: "first last", until an empty line.
	new line
	kill ^step,^block,^claim,^done,^total
	for  read line quit:line=""  set ^block(+line)=$piece(line," ",2)
	write "created",!
	quit
	;
work	; Takes blocks until none is left, and says so. Orders: 1 for words or 0; then, when all are ready, a line to begin.
	new spelled,line,first
	read spelled
	write "ready",!
	read line
	set first=""
	for  set first=$order(^block(first)) quit:first=""  if '$data(^done(first)),$increment(^claim(first))=1 do block(first)
	write "done",!
	quit
	;
block(first)	; Every integer of a block.
	new last,n,reads,updates
	set last=^block(first),(reads,updates)=0
	for n=first:1:last do follow(n)
	tstart ():serial
	set ^total("reads")=$get(^total("reads"))+reads,^total("updates")=$get(^total("updates"))+updates,^done(first)=1
	tcommit
	quit
	;
follow(n)	; To 1 or to a number already known; then the steps of every number on the way.
	new count,high,index,key,path,total
	set (count,high)=0
	for  set key=$$text(n),reads=reads+1 quit:n=1!$data(^step(key))  do
	. set count=count+1,path(count)=key
	. set n=$select(n#2:3*n+1,1:n\2)
	. set:n>high high=n
	quit:'count
	set total=count
	set:n>1 total=total+$$number(^step(key))
	tstart ():serial
	set:total>$get(^total("longest")) ^total("longest")=total
	set:high>$get(^total("highest")) ^total("highest")=high
	tcommit
	; Single updates outside transactions, as the original makes them.
	for index=1:1:count set ^step(path(index))=$$text(total-index+1)
	set updates=updates+count
	quit
	;
release	; Claims of workers that were killed are void.
	kill ^claim
	write "released",!
	quit
	;
totals	; Longest, highest, reads, updates, and how many blocks nobody has finished.
	new first,left,name
	set first="",left=0
	for  set first=$order(^block(first)) quit:first=""  set:'$data(^done(first)) left=left+1
	for name="longest","highest","reads","updates" write +$get(^total(name))," "
	write left,!
	quit
	;
count	; How many numbers are stored.
	new key,stored
	set key="",stored=0
	for  set key=$order(^step(key)) quit:key=""  set stored=stored+1
	write stored,!
	quit
	;
look	; Steps of numbers: 1 for words or 0, then a number a line until an empty line; -1 for one that is not stored.
	new spelled,n,key
	read spelled
	for  read n quit:n=""  set key=$$text(n) write $select($data(^step(key)):$$number(^step(key)),1:-1),!
	quit
	;
text(n)	; A number as it is stored.
	quit:'spelled n
	new index,words
	set words=$$word($extract(n))
	for index=2:1:$length(n) set words=words_" "_$$word($extract(n,index))
	quit words
	;
word(digit)	; Its word.
	quit $piece("zero,eins,deux,tres,quattro,пять,ستة,सात,捌,ஒன்பது",",",digit+1)
	;
number(text)	; The number of a text.
	quit:'spelled text
	new digit,index,number
	set number=""
	for index=1:1:$length(text," ") for digit=0:1:9 if $$word(digit)=$piece(text," ",index) set number=number_digit quit
	quit number
